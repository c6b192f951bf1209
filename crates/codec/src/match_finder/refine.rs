//! The refinement of suffixes in a buffer: which earlier one agrees longest with each.
//!
//! In: suffixes in order, which agree in their first bytes. Out: for each a link to an earlier one.
//!
//! **Invariant:** suffixes stay in order within each part. So the one before in a part is the
//! nearest with as many bytes alike, and a suffix only needs to remember the match that it had
//! before its last split. The ends of suffixes count as followed by zeros.

use super::link::Link;

/// Parts with so few suffixes are compared each with each.
const FEW: usize = 12;

/// Bytes of a key.
const KEY: usize = 8;

/// Keys that have lost more are read again before they are compared: few of the others agree to
/// their ends, and only those cost a look at the bytes.
const WORN: usize = 4;

/// A suffix in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suffix {
    /// The next bytes after those that agree, the first one lowest.
    key: u64,
    /// Its place among the positions that are refined together.
    rank: u32,
    /// The match if no longer one is found: a rank and a length.
    link: Link,
}

impl Suffix {
    /// What stands in unused room.
    pub(super) const NOTHING: Self = Self {
        key: 0,
        rank: 0,
        link: Link::NONE,
    };

    /// Makes the suffix at a position that agrees with the others in `agreed` bytes.
    #[inline(always)]
    pub(super) fn new(bytes: &[u8], position: u32, rank: u32, agreed: usize) -> Self {
        Self {
            key: key(bytes, position as usize + agreed),
            rank,
            link: Link::NONE,
        }
    }
}

/// Reads the bytes at a position, with zeros after the end.
#[inline(always)]
fn key(bytes: &[u8], position: usize) -> u64 {
    match bytes.get(position..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => key_at_end(bytes, position),
    }
}

#[cold]
fn key_at_end(bytes: &[u8], position: usize) -> u64 {
    let rest = bytes.get(position..).unwrap_or_default();
    rest.iter()
        .rev()
        .fold(0, |key, &byte| key << 8 | u64::from(byte))
}

/// Some byte values, to be gone through from the lowest on.
#[derive(Debug, Clone, Copy, Default)]
struct Bytes([u64; 4]);

impl Bytes {
    /// Adds the lowest byte of a key.
    #[inline(always)]
    fn add(&mut self, key: u64) {
        self.0[key as usize >> 6 & 3] |= 1 << (key & 63);
    }
}

impl Iterator for Bytes {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        for (index, word) in self.0.iter_mut().enumerate() {
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(index << 6 | bit);
            }
        }
        None
    }
}

/// Refines chains; keeps its room from one to the next.
#[derive(Debug)]
pub(super) struct Refiner {
    depth: usize,
    spare: Vec<Suffix>,
    /// The matches that were found, by rank.
    found: Vec<Link>,
}

/// What the refinement of one chain works with.
struct Refinement<'a> {
    bytes: &'a [u8],
    positions: &'a [u32],
    found: &'a mut [Link],
    depth: usize,
}

impl Refiner {
    /// Makes a refiner, which must be started.
    pub(super) fn new() -> Self {
        Self {
            depth: 2,
            spare: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Forgets all matches; sets the longest match and the number of positions.
    pub(super) fn start(&mut self, depth: usize, count: usize) {
        self.depth = depth;
        self.found.clear();
        self.found.resize(count, Link::NONE);
    }

    /// Returns the match of a rank: an earlier rank and a length.
    #[inline(always)]
    pub(super) fn found(&self) -> &[Link] {
        &self.found
    }

    /// Finds the match of each suffix of a chain.
    pub(super) fn refine(
        &mut self,
        bytes: &[u8],
        positions: &[u32],
        chain: &mut [Suffix],
        agreed: usize,
    ) {
        if self.spare.len() < chain.len() {
            self.spare.resize(chain.len(), Suffix::NOTHING);
        }
        let mut work = Refinement {
            bytes,
            positions,
            found: &mut self.found,
            depth: self.depth,
        };
        work.part(chain, &mut self.spare[..chain.len()], agreed, 0);
    }
}

impl Refinement<'_> {
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
                self.compare_pairs(part, agreed, used);
                return;
            }
            if agreed >= self.depth {
                self.write_all(part);
                return;
            }
            if used == KEY {
                self.load(part, agreed);
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

    /// Reads the keys of a part again.
    #[inline(always)]
    fn load(&self, part: &mut [Suffix], agreed: usize) {
        for suffix in part {
            suffix.key = key(self.bytes, self.position(suffix.rank) + agreed);
        }
    }

    #[inline(always)]
    fn position(&self, rank: u32) -> usize {
        self.positions[rank as usize] as usize
    }

    /// Splits a part by the next byte and refines the pieces.
    fn split(&mut self, part: &mut [Suffix], spare: &mut [Suffix], agreed: usize, used: usize) {
        let mut counts = [0u32; 256];
        let mut seen = Bytes::default();
        for suffix in &*part {
            counts[suffix.key as usize & 255] += 1;
            seen.add(suffix.key);
        }
        let mut ends = [0u32; 256];
        let mut total = 0u32;
        for byte in seen {
            ends[byte] = total;
            if counts[byte] > 1 {
                total += counts[byte];
            }
        }
        let mut before = None;
        for &suffix in &*part {
            let mut suffix = suffix;
            if let Some(before) = before {
                suffix.link = Link::new(before, agreed);
            }
            before = Some(suffix.rank);
            let byte = suffix.key as usize & 255;
            if counts[byte] == 1 {
                self.write(suffix.rank, suffix.link);
                continue;
            }
            suffix.key >>= 8;
            let end = &mut ends[byte];
            spare[*end as usize] = suffix;
            *end += 1;
        }
        let mut start = 0;
        for byte in seen {
            let count = counts[byte] as usize;
            if count > 1 {
                let range = start..start + count;
                let (whole, room) = (&mut spare[range.clone()], &mut part[range]);
                self.part(whole, room, agreed + 1, used + 1);
                start += count;
            }
        }
    }

    /// Compares the suffixes of a small part each with each.
    fn compare_pairs(&mut self, part: &mut [Suffix], agreed: usize, mut used: usize) {
        if used > WORN {
            self.load(part, agreed);
            used = 0;
        }
        let known = KEY - used;
        let most = self.depth.saturating_sub(agreed);
        let mut rest = &*part;
        while let Some((suffix, earlier)) = rest.split_last() {
            rest = earlier;
            let mut link = suffix.link;
            let mut best = None;
            for other in earlier.iter().rev() {
                let differ = suffix.key ^ other.key;
                let mut same = differ.trailing_zeros() as usize / 8;
                if same >= known && most > known {
                    same = self.agreement(suffix.rank, other.rank, agreed, known, most);
                }
                if best.is_none_or(|best| same > best) {
                    best = Some(same);
                    link = Link::new(other.rank, (agreed + same).min(self.depth));
                    if same >= most {
                        break;
                    }
                }
            }
            self.write(suffix.rank, link);
        }
    }

    /// Returns in how many bytes two suffixes agree after `agreed` ones; `known` are the first of
    /// them.
    fn agreement(
        &self,
        later: u32,
        earlier: u32,
        agreed: usize,
        known: usize,
        most: usize,
    ) -> usize {
        let later = self.position(later) + agreed;
        let earlier = self.position(earlier) + agreed;
        let mut same = known;
        while same < most {
            let differ = key(self.bytes, later + same) ^ key(self.bytes, earlier + same);
            if differ != 0 {
                return same + differ.trailing_zeros() as usize / 8;
            }
            same += KEY;
        }
        same
    }

    /// Writes the matches of suffixes that agree in all that is looked at.
    fn write_all(&mut self, part: &[Suffix]) {
        let mut before = None;
        for suffix in part {
            let link = before.map_or(suffix.link, |before| Link::new(before, self.depth));
            self.write(suffix.rank, link);
            before = Some(suffix.rank);
        }
    }

    #[inline(always)]
    fn write(&mut self, rank: u32, link: Link) {
        self.found[rank as usize] = link;
    }
}
