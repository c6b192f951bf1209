//! The refinement of one chain in a buffer: which earlier suffix agrees longest with each.
//!
//! In: suffixes from the last to the first, which agree in their first bytes. Out: a word of the match
//! table for each.
//!
//! **Invariant:** suffixes stay in order within each part. So the next one of a part is the nearest
//! with as many bytes alike, and a suffix only needs to remember the match that it had before its
//! last split. Every suffix is written once.

use super::table::Link;

/// Parts with so few suffixes are compared each with each.
const FEW: usize = 12;

/// Bytes of a key.
const KEY: usize = 8;

/// A suffix in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suffix {
    /// The next bytes after those that agree, the first one lowest.
    key: u64,
    position: u32,
    /// The match if no longer one is found.
    link: Link,
}

impl Suffix {
    /// What stands in unused room.
    pub(super) const NOTHING: Self = Self {
        key: 0,
        position: 0,
        link: Link::NONE,
    };

    /// Makes the suffix at a position that agrees with the others in so many bytes.
    #[inline(always)]
    pub(super) fn new(slice: &[u8], position: u32, link: Link, agreed: usize) -> Self {
        Self {
            key: key(slice, position as usize + agreed),
            position,
            link,
        }
    }
}

/// Reads the bytes at a position, with zeros after the end.
#[inline(always)]
fn key(slice: &[u8], position: usize) -> u64 {
    match slice.get(position..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => key_at_end(slice, position),
    }
}

#[cold]
fn key_at_end(slice: &[u8], position: usize) -> u64 {
    let rest = slice.get(position..).unwrap_or_default();
    rest.iter()
        .rev()
        .fold(0, |key, &byte| key << 8 | u64::from(byte))
}

/// Refines parts of chains; keeps its spare room from one to the next.
#[derive(Debug)]
pub(super) struct Refiner {
    depth: usize,
    reach: u32,
    spare: Vec<Suffix>,
}

/// What the refinement of one chain works with.
struct Work<'a> {
    slice: &'a [u8],
    links: &'a mut [u32],
    depth: usize,
    reach: u32,
}

impl Refiner {
    /// Makes a refiner, which must be started.
    pub(super) fn new() -> Self {
        Self {
            depth: 2,
            reach: 0,
            spare: Vec::new(),
        }
    }

    /// Sets the longest match and the longest distance.
    pub(super) fn start(&mut self, depth: usize, reach: usize) {
        self.depth = depth;
        self.reach = u32::try_from(reach).unwrap_or(u32::MAX);
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Finds the match of each suffix of a chain and writes it to the table.
    pub(super) fn refine(
        &mut self,
        slice: &[u8],
        chain: &mut [Suffix],
        agreed: usize,
        links: &mut [u32],
    ) {
        if self.spare.len() < chain.len() {
            self.spare.resize(chain.len(), Suffix::NOTHING);
        }
        let mut work = Work {
            slice,
            links,
            depth: self.depth,
            reach: self.reach,
        };
        work.part(chain, &mut self.spare[..chain.len()], agreed, 0);
    }
}

impl Work<'_> {
    /// Refines a part that agrees in `agreed` bytes, whose keys have lost `used` bytes.
    fn part(
        &mut self,
        part: &mut [Suffix],
        spare: &mut [Suffix],
        mut agreed: usize,
        mut used: usize,
    ) {
        loop {
            if part.len() <= FEW {
                self.few(part, agreed, used);
                return;
            }
            if agreed >= self.depth {
                self.write_all(part, self.depth);
                return;
            }
            if used == KEY {
                for suffix in &mut *part {
                    suffix.key = key(self.slice, suffix.position as usize + agreed);
                }
                used = 0;
            }
            let first = part.first().map_or(0, |suffix| suffix.key);
            let differ = part
                .iter()
                .fold(0, |differ, suffix| differ | (suffix.key ^ first));
            let same = (differ.trailing_zeros() as usize / 8).min(KEY - used);
            if same == 0 {
                break;
            }
            agreed += same;
            used += same;
            if same < KEY {
                for suffix in &mut *part {
                    suffix.key >>= 8 * same;
                }
            }
        }
        self.split(part, spare, agreed, used);
    }

    /// Splits a part by the next byte and refines what it consists of.
    fn split(&mut self, part: &mut [Suffix], spare: &mut [Suffix], agreed: usize, used: usize) {
        let mut counts = [0u32; 256];
        for suffix in &*part {
            counts[suffix.key as usize & 255] += 1;
        }
        let mut ends = [0u32; 256];
        let mut total = 0u32;
        for (end, &count) in ends.iter_mut().zip(&counts) {
            *end = total;
            if count > 1 {
                total += count;
            }
        }
        for index in 0..part.len() {
            let mut suffix = part[index];
            if let Some(next) = part.get(index + 1) {
                suffix.link = self.link(suffix, next.position, agreed);
            }
            let byte = suffix.key as usize & 255;
            if counts[byte] == 1 {
                self.write(suffix.position, suffix.link);
                continue;
            }
            suffix.key >>= 8;
            let end = &mut ends[byte];
            spare[*end as usize] = suffix;
            *end += 1;
        }
        let mut start = 0;
        for count in counts {
            let count = count as usize;
            if count > 1 {
                let range = start..start + count;
                self.part(
                    &mut spare[range.clone()],
                    &mut part[range],
                    agreed + 1,
                    used + 1,
                );
                start += count;
            }
        }
    }

    /// Compares the suffixes of a small part each with each.
    fn few(&mut self, part: &mut [Suffix], agreed: usize, used: usize) {
        if used > 0 {
            for suffix in &mut *part {
                suffix.key = key(self.slice, suffix.position as usize + agreed);
            }
        }
        let most = self.depth.saturating_sub(agreed);
        let mut rest = &*part;
        while let Some((suffix, earlier)) = rest.split_first() {
            rest = earlier;
            let mut link = suffix.link;
            let mut best = None;
            for other in earlier {
                let differ = suffix.key ^ other.key;
                let mut same = differ.trailing_zeros() as usize / 8;
                if same == KEY && most > KEY {
                    same = self.agreement(suffix.position, other.position, agreed, most);
                }
                if best.is_none_or(|best| same > best) {
                    best = Some(same);
                    link = self.link(
                        Suffix { link, ..*suffix },
                        other.position,
                        (agreed + same).min(self.depth),
                    );
                    if same >= most {
                        break;
                    }
                }
            }
            self.write(suffix.position, link);
        }
    }

    /// Tells in how many bytes two suffixes agree after those that are known and a key.
    fn agreement(&self, later: u32, earlier: u32, agreed: usize, most: usize) -> usize {
        let mut same = KEY;
        while same < most {
            let at = agreed + same;
            let differ =
                key(self.slice, later as usize + at) ^ key(self.slice, earlier as usize + at);
            if differ != 0 {
                return same + differ.trailing_zeros() as usize / 8;
            }
            same += KEY;
        }
        same
    }

    /// Gives the link of a suffix to an earlier one, or the one that it has if that is too far.
    #[inline(always)]
    fn link(&self, suffix: Suffix, earlier: u32, length: usize) -> Link {
        if suffix.position.wrapping_sub(earlier) <= self.reach {
            Link::new(earlier, length)
        } else {
            suffix.link
        }
    }

    /// Writes the matches of suffixes of which each agrees with the next.
    fn write_all(&mut self, part: &[Suffix], agreed: usize) {
        for (index, suffix) in part.iter().enumerate() {
            let link = match part.get(index + 1) {
                Some(next) => self.link(*suffix, next.position, agreed),
                None => suffix.link,
            };
            self.write(suffix.position, link);
        }
    }

    #[inline(always)]
    fn write(&mut self, position: u32, link: Link) {
        let position = position as usize;
        let left = self.slice.len() - position;
        self.links[position] = link.cut(left).word();
    }
}
