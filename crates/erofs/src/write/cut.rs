//! Cuts a unit around what is stored already: what stands in earlier units is referred to, the rest is cut
//! into clusters, or into pieces that are extents.
//!
//! In: a unit, its repeats, and what earlier units became. Out: its parts and what is stored of it. Readers
//! decode a cluster from its start only, so that a reference begins where some cluster does, and has the
//! cluster's content up to where the repeat ends. **Invariant:** the parts are all of the unit; those of
//! clusters begin in different blocks of the file; the result depends on the unit, on those before it
//! and on the options alone.

use sinterfs_model::{Repeat, Result};

use super::BLOCK;
use super::compression::Compression;
use super::encoded::{Encoded, Part};
use super::search::{self, Leaves, Search};

/// How a unit is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// The most bytes of a cluster, or of content of an extent.
    pub(super) most: usize,
    /// Whether clusters of whole blocks are made.
    pub(super) in_blocks: bool,
    /// What it may leave behind its last full cluster.
    pub(super) leaves: Leaves,
}

/// A unit that was cut.
#[derive(Debug, Default)]
pub(super) struct Cut {
    pub(super) parts: Vec<Part>,
    /// What is stored of it.
    pub(super) bytes: Vec<u8>,
    /// The last bytes of content that no part has.
    pub(super) left: usize,
    /// What goes behind the inode: the last bytes of content, and what they became.
    pub(super) inline: Option<(usize, Vec<u8>)>,
}

/// Repeats of less than one byte of a unit in so many cost more than they save: full indexes for the whole
/// file.
const RARE: usize = 256;

/// What a reference has to save at least, in bytes: the cluster before it ends early and is not full.
const LEAST_IN_BLOCKS: u64 = BLOCK;

/// What it has to save where clusters need no whole blocks: a record of 16 bytes each, and what the codec
/// cannot see any more.
const LEAST: u64 = 512;

/// How many starts of references are tried, where the first is in the block in which another part begins.
const STARTS: usize = 3;

/// A unit that is being cut.
struct Around<'a> {
    compression: &'a Compression,
    shape: Shape,
    unit: u32,
    raw: &'a [u8],
    /// Bytes of content that have parts.
    done: usize,
    parts: Vec<Part>,
    bytes: Vec<u8>,
    left: usize,
    inline: Option<(usize, Vec<u8>)>,
    search: Search,
}

/// Cuts a unit, whose number is given. `find` tells what an earlier unit became.
pub(super) fn cut(
    compression: &Compression,
    shape: Shape,
    (unit, raw): (u32, &[u8]),
    repeats: &[Repeat],
    find: impl Fn(u32) -> Result<Encoded>,
) -> Result<Cut> {
    let mut around = Around {
        compression,
        shape,
        unit,
        raw,
        done: 0,
        parts: Vec::new(),
        bytes: Vec::new(),
        left: 0,
        inline: None,
        search: Search::default(),
    };
    let all: usize = repeats.iter().map(|repeat| repeat.len as usize).sum();
    if !shape.in_blocks || all >= raw.len() / RARE {
        for repeat in repeats {
            around.take(repeat, &find)?;
        }
    }
    around.store(raw.len())?;
    Ok(Cut {
        parts: around.parts,
        bytes: around.bytes,
        left: around.left,
        inline: around.inline,
    })
}

impl Around<'_> {
    /// Refers to what a repeat has, if that saves something, and stores what is before it.
    fn take(&mut self, repeat: &Repeat, find: impl Fn(u32) -> Result<Encoded>) -> Result<()> {
        let end = (repeat.start + repeat.len) as usize;
        if repeat.block.0 == self.unit {
            // as much of the unit has to be cut, wherever that ends
            let known = (repeat.offset + repeat.len).min(repeat.start) as usize;
            while self.done < known {
                self.store_one(self.raw.len())?;
            }
        }
        if self.done >= end {
            return Ok(());
        }
        let skipped = self.done.saturating_sub(repeat.start as usize) as u32;
        let repeat = Repeat {
            start: repeat.start + skipped,
            offset: repeat.offset + skipped,
            len: repeat.len - skipped,
            ..*repeat
        };
        let found = match repeat.block.0 == self.unit {
            true => references(&self.parts, &repeat, self.shape.in_blocks),
            false => references(&find(repeat.block.0)?.parts, &repeat, self.shape.in_blocks),
        };
        let (mut rest, mut misses) = (found.as_slice(), 0);
        while misses < STARTS && self.gains(rest) {
            let added = self.refer(rest)?;
            misses += usize::from(added == 0);
            // the next one is too short to be one
            rest = rest.get(added + 1..).unwrap_or_default();
        }
        Ok(())
    }

    /// Returns whether references save more than they cost.
    fn gains(&self, found: &[Part]) -> bool {
        let saved = |part: &Part| match part.is_plain() {
            true => u64::from(part.raw),
            false => u64::from(part.stored) * u64::from(part.raw) / u64::from(part.whole.max(1)),
        };
        let least = match self.shape.in_blocks {
            true => LEAST_IN_BLOCKS,
            false => LEAST,
        };
        found.iter().map(saved).sum::<u64>() >= least
    }

    /// Stores what is before references, adds them, and tells how many: fewer than there are, or none, if a
    /// part would begin in the block in which another does.
    fn refer(&mut self, found: &[Part]) -> Result<usize> {
        let Some(first) = found.first() else {
            return Ok(0);
        };
        let before = (self.done, self.parts.len(), self.bytes.len());
        let last = self.parts.last().copied();
        let start = first.start as usize;
        let mut fits = self.make_room(start);
        if fits {
            self.store(start)?;
            let own = self.parts.get(before.1.saturating_sub(1)..);
            let mut own = own.unwrap_or_default().iter().chain([first]);
            fits = !self.shape.in_blocks || are_apart(&mut own);
        }
        let mut added = 0;
        while let (true, Some(part)) = (fits, found.get(added)) {
            if self.shape.in_blocks && !self.can_be_told(part) {
                break;
            }
            self.parts.push(*part);
            self.done = part.end() as usize;
            added += 1;
        }
        if !self.gains(found.get(..added).unwrap_or_default()) {
            let (done, parts, bytes) = before;
            self.done = done;
            self.parts.truncate(parts);
            self.bytes.truncate(bytes);
            if let (Some(changed), Some(last)) = (self.parts.last_mut(), last) {
                *changed = last;
            }
            return Ok(0);
        }
        Ok(added)
    }

    /// Returns whether indexes can tell of a part: what follows begins in another block, or nothing does; and
    /// if it has several blocks, there is one index more, which tells their number.
    fn can_be_told(&self, part: &Part) -> bool {
        let is_last = part.end() as usize == self.raw.len();
        ends_apart(part, part.end()) || is_last && u64::from(part.stored) <= BLOCK
    }

    /// Makes what is between the last reference and another one begin in a block before that one's, by
    /// taking some of its content from the last one; tells whether it does.
    fn make_room(&mut self, start: usize) -> bool {
        let Some(last) = self.parts.last_mut() else {
            return true;
        };
        let is_near = self.shape.in_blocks
            && self.done < start
            && block(self.done as u32) == block(start as u32);
        if !is_near {
            return true;
        }
        let Some(end) = (block(start as u32) * BLOCK as u32).checked_sub(1) else {
            return false;
        };
        if last.unit == self.unit || !ends_apart(last, end) {
            return false;
        }
        last.raw = end - last.start;
        self.done = end as usize;
        true
    }

    /// Stores content up to a place.
    fn store(&mut self, to: usize) -> Result<()> {
        while self.done < to {
            self.store_one(to)?;
        }
        Ok(())
    }

    /// Stores the next cluster of content that ends at a place, or some of it as it is.
    fn store_one(&mut self, to: usize) -> Result<()> {
        let (start, most) = (self.done, self.shape.most);
        let rest = self.raw.get(start..to).unwrap_or_default();
        if !self.shape.in_blocks {
            let piece = rest.get(..most).unwrap_or(rest);
            let stream = self.compression.encode(piece)?;
            self.add(piece.len(), stream.as_deref().unwrap_or(piece));
            return Ok(());
        }
        let leaves = match to == self.raw.len() {
            true => self.shape.leaves,
            false => Leaves::default(),
        };
        if self.search.leaves(rest.len(), most, leaves) {
            self.leave(rest.len());
            return Ok(());
        }
        let (mut taken, mut stream) = self.search.next(self.compression, rest, most)?;
        if search::is_left(rest.len(), (taken, &stream), most, leaves) {
            self.leave(rest.len());
            return Ok(());
        }
        if leaves.inline && taken == rest.len() {
            (taken, stream) = self.search.without_end(self.compression, rest, stream)?;
            if taken == rest.len() && search::is_end(taken, &stream) {
                self.inline = Some((taken, stream));
                self.done += taken;
                return Ok(());
            }
        }
        if !fills(taken, &stream) {
            let plain = search::plain(rest, most, leaves);
            for block in plain.chunks(BLOCK as usize) {
                self.add_plain(block);
            }
            return Ok(());
        }
        // what is left must not begin in the block of what follows
        let end = start + taken;
        if end < to && to < self.raw.len() && block(end as u32) == block(to as u32) {
            let shorter = block(to as u32) as usize * BLOCK as usize - BLOCK as usize / 2;
            let rest = self.raw.get(start..shorter).unwrap_or_default();
            if !rest.is_empty() {
                let (taken, stream) = self.search.next(self.compression, rest, most)?;
                if taken == rest.len() && fills(taken, &stream) {
                    self.add(taken, &stream);
                    return Ok(());
                }
            }
        }
        self.add(taken, &stream);
        Ok(())
    }

    /// Leaves the last bytes.
    fn leave(&mut self, len: usize) {
        self.left = len;
        self.done += len;
    }

    /// Adds so much content that became a stream; readers of blocks skip the zeros in front of it.
    fn add(&mut self, raw: usize, stream: &[u8]) {
        let at = self.bytes.len();
        let stored = match self.shape.in_blocks {
            true => stream.len().next_multiple_of(BLOCK as usize),
            false => stream.len(),
        };
        self.bytes.resize(at + stored - stream.len(), 0);
        self.bytes.extend_from_slice(stream);
        self.push(raw, stored, at);
    }

    /// Adds a block of content as it is.
    fn add_plain(&mut self, raw: &[u8]) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(raw);
        self.bytes.resize(at + BLOCK as usize, 0);
        self.push(raw.len(), BLOCK as usize, at);
    }

    fn push(&mut self, raw: usize, stored: usize, at: usize) {
        self.parts.push(Part {
            start: self.done as u32,
            raw: raw as u32,
            whole: raw as u32,
            stored: stored as u32,
            unit: self.unit,
            at: at as u32,
        });
        self.done += raw;
    }
}

/// Returns whether a stream takes fewer blocks than its content.
fn fills(raw: usize, stream: &[u8]) -> bool {
    !stream.is_empty() && raw > stream.len().next_multiple_of(BLOCK as usize)
}

fn block(at: u32) -> u32 {
    at / BLOCK as u32
}

/// Returns whether a part that ends somewhere has as many indexes as it needs.
fn ends_apart(part: &Part, end: u32) -> bool {
    let indexes = if u64::from(part.stored) > BLOCK { 2 } else { 1 };
    block(part.start) + indexes <= block(end)
}

/// Returns whether parts begin in different blocks.
fn are_apart<'a>(parts: &mut impl Iterator<Item = &'a Part>) -> bool {
    let mut last = None;
    parts.all(|part| last.replace(block(part.start)) < Some(block(part.start)))
}

/// Finds what a repeat has of the parts of a unit.
fn references(parts: &[Part], repeat: &Repeat, in_blocks: bool) -> Vec<Part> {
    let end = repeat.offset + repeat.len;
    let from = parts.partition_point(|part| part.end() <= repeat.offset);
    let parts = parts.get(from..).unwrap_or_default().iter();
    let within = parts.take_while(|part| part.start < end);
    let mut found = Vec::new();
    for part in within {
        let skipped = repeat.offset.saturating_sub(part.start);
        // what is stored as it is, from any byte on, can be read from any
        let (from_any, raw) = (
            part.is_plain() && !in_blocks,
            part.end().min(end) - part.start,
        );
        if skipped > 0 && !from_any {
            continue;
        }
        let raw = raw - skipped;
        let start = repeat.start + part.start + skipped - repeat.offset;
        found.push(match from_any {
            true => Part {
                start,
                raw,
                whole: raw,
                stored: raw,
                unit: part.unit,
                at: part.at + skipped,
            },
            false => Part {
                start,
                raw,
                ..*part
            },
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sinterfs_model::BlockId;

    use super::*;

    fn text(mut state: u32, len: usize) -> Vec<u8> {
        let mut word = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{:05} ", state >> 25)
        };
        let words = std::iter::repeat_with(|| word().into_bytes()).flatten();
        words.take(len).collect()
    }

    fn encoded(parts: &[Part]) -> Encoded {
        Encoded {
            parts: Arc::from(parts),
            is_flat: false,
            inline: None,
        }
    }

    /// Cuts a unit of which a part stands in another one, wherever both begin, and checks what indexes and
    /// readers need.
    fn check(compression: &str, shape: Shape, (skip, offset, len): (usize, usize, usize)) -> usize {
        let compression = compression.parse().unwrap();
        let first = text(1, 400_000);
        let none = |_| panic!("nothing is looked for");
        let old = cut(&compression, shape, (0, &first), &[], none)
            .unwrap()
            .parts;
        let raw = [&text(2, skip), &first[offset..offset + len], b"the end"].concat();
        let repeat = Repeat {
            start: skip as u32,
            len: len as u32,
            block: BlockId(0),
            offset: offset as u32,
        };
        let find = |unit| {
            assert_eq!(unit, 0);
            Ok(encoded(&old))
        };
        let cut = cut(&compression, shape, (1, &raw), &[repeat], find).unwrap();
        let Cut { parts, bytes, .. } = cut;
        let not_in_parts = cut.left + cut.inline.as_ref().map_or(0, |end| end.0);
        assert!(not_in_parts == 0 || shape.leaves != Leaves::default());
        let (mut end, mut stored, mut referred) = (0, 0, 0);
        for part in &parts {
            assert_eq!(part.start, end);
            end = part.end();
            let own = &raw[part.start as usize..end as usize];
            if part.unit == 1 {
                assert_eq!((part.at, part.raw), (stored, part.whole));
                stored += part.stored;
                continue;
            }
            referred += own.len();
            let source = old.iter().find(|old| {
                (old.at..old.at + old.stored).contains(&part.at)
                    && (old.at == part.at || part.is_plain())
            });
            let source = source.unwrap();
            let from = (source.start + part.at - source.at) as usize;
            assert_eq!(&first[from..from + own.len()], own, "{part:?}");
        }
        assert_eq!(end as usize + not_in_parts, raw.len());
        assert_eq!(stored as usize, bytes.len());
        if shape.in_blocks {
            assert!(are_apart(&mut parts.iter()), "{parts:?}");
            let starts = parts.iter().skip(1).map(|part| part.start).chain([end]);
            for (part, next) in parts.iter().zip(starts) {
                assert!(ends_apart(part, next) || next == end, "{parts:?}");
            }
        }
        referred
    }

    #[test]
    fn references_begin_where_readers_can_begin_to_decode() {
        for (compression, most, in_blocks) in [
            ("lz4hc:level=3", 4096, true),
            ("lz4", 16_384, true),
            ("zstd:level=1", 65_536, true),
            ("zstd:level=1", 16_384, false),
        ] {
            let mut most_referred = 0;
            for n in 0..40 {
                let leaves = match in_blocks {
                    true => Leaves {
                        inline: n % 3 == 1,
                        rest: n % 3 * 5000,
                    },
                    false => Leaves::default(),
                };
                let shape = Shape {
                    most,
                    in_blocks,
                    leaves,
                };
                let (skip, offset) = (n * 1237 % 9000, n * 7919 % 90_000);
                let referred = check(compression, shape, (skip, offset, 300_000 - n * 777));
                most_referred = referred.max(most_referred);
            }
            assert!(most_referred > 150_000, "{compression}: {most_referred}");
        }
    }

    #[test]
    fn what_saves_nothing_is_stored_again() {
        let shape = Shape {
            most: 4096,
            in_blocks: true,
            leaves: Leaves::default(),
        };
        assert_eq!(check("lz4", shape, (10_000, 5000, 4100)), 0);
        assert_eq!(check("lz4", shape, (0, 1, 3000)), 0);
    }
}
