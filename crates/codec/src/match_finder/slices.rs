//! A block cut in slices that several threads encode apart from each other.
//!
//! In: a block and the encoder of a slice. Out: what the encoder returned for each slice, in order.
//!
//! The matches of a slice reach back into the slices before it: they come from one match table,
//! which is filled by the same threads before.
//!
//! **Invariant:** neither what a thread encoded before nor the number of threads changes the
//! result.

use std::ops::Range;

use sinterfs_workers::WorkerPermits;

use crate::share::{Helped, share};

use super::table::{MAX_COVER, MatchTable};

/// The part of what the table covers that it also covered the time before, so that its matches are
/// known.
const OVERLAP: usize = 4;

/// Bytes that are coded without the statistics of what is before them: so much of a block is a
/// thread's share.
pub(in super::super) const SLICE: usize = 8 << 20;

/// Slices for each of the threads that share a block, so that none waits long for the last slice.
const SLICES_PER_THREAD: usize = 2;

/// Of so many slices or more the last ones are cut in halves and quarters, for the same reason.
const MANY: usize = 4;

/// The longest table that a thread keeps for its next block; longer ones are little work beside
/// what they are used for.
const KEPT: usize = 4 << 20;

/// Returns how many threads can share a block of `len` bytes with a gain.
pub(in super::super) fn threads(len: usize) -> usize {
    (len / SLICE / SLICES_PER_THREAD).max(1)
}

/// The part of a block that is encoded, with its matches.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Slice<'a> {
    /// The block up to the end of the slice.
    pub(in super::super) block: &'a [u8],
    /// Where the slice begins.
    pub(in super::super) begin: usize,
    /// The matches of the block from `base` on.
    pub(in super::super) table: &'a MatchTable,
    pub(in super::super) base: usize,
}

/// How far a match table looks.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Search {
    /// The longest match of the table.
    pub(in super::super) depth: usize,
    /// The longest distance.
    pub(in super::super) reach: usize,
}

/// Returns where the slices of a range begin, and where the last one ends.
pub(in super::super) fn cuts(range: Range<usize>, slice: usize) -> Vec<usize> {
    let count = range.len().div_ceil(slice);
    let mut cuts: Vec<usize> = range.clone().step_by(slice).collect();
    if count >= MANY {
        let (half, quarter) = (range.end - 2 * slice, range.end - slice);
        cuts.retain(|&cut| cut < half);
        cuts.extend((half..quarter).step_by(slice.div_ceil(2)));
        cuts.extend((quarter..range.end).step_by(slice.div_ceil(4)));
    }
    cuts.push(range.end);
    cuts
}

/// A match table, and how blocks are cut.
#[derive(Debug)]
pub(in super::super) struct Slicer {
    /// Bytes that the table covers at a time.
    cover: usize,
    /// Bytes of a slice.
    slice: usize,
    table: MatchTable,
}

impl Slicer {
    /// Makes a slicer into slices of `slice` bytes, whose table covers at most `cover` bytes at a
    /// time, up to [`MAX_COVER`].
    pub(in super::super) fn new(cover: usize, slice: usize) -> Self {
        Self {
            cover: cover.min(MAX_COVER),
            slice,
            table: MatchTable::new(),
        }
    }

    /// Calls `encode` with each slice of a block, in the caller and in the places of idle threads;
    /// each has its own tools.
    pub(in super::super) fn encode<T, R: Send>(
        &mut self,
        block: &[u8],
        search: Search,
        permits: &WorkerPermits,
        tools: &mut T,
        new_tools: impl Fn() -> T + Sync,
        encode: impl Fn(&mut T, Slice<'_>) -> R + Sync,
    ) -> Vec<R> {
        let mut encoded = Vec::new();
        let mut position = 0;
        while position < block.len() {
            let base = position.saturating_sub(self.cover / OVERLAP);
            let end = block.len().min(base + self.cover);
            let helpers = (end - base).div_ceil(self.slice) - 1;
            let helped = Helped { permits, helpers };
            self.fill(&block[base..end], search, helped);
            let table = &self.table;
            let cuts = cuts(position..end, self.slice);
            encoded.extend(share(
                helped,
                cuts.len() - 1,
                tools,
                &new_tools,
                |tools, index| {
                    let slice = Slice {
                        block: &block[..cuts[index + 1]],
                        begin: cuts[index],
                        table,
                        base,
                    };
                    encode(tools, slice)
                },
            ));
            position = end;
        }
        encoded
    }

    /// Returns all of a block of up to [`MAX_COVER`] bytes as one slice.
    pub(in super::super) fn whole<'a>(
        &'a mut self,
        block: &'a [u8],
        search: Search,
        permits: &WorkerPermits,
    ) -> Slice<'a> {
        let helpers = (block.len() / self.slice).saturating_sub(1);
        let helped = Helped { permits, helpers };
        self.fill(block, search, helped);
        Slice {
            block,
            begin: 0,
            table: &self.table,
            base: 0,
        }
    }

    fn fill(&mut self, bytes: &[u8], Search { depth, reach }: Search, helped: Helped<'_>) {
        self.table.fill(bytes, depth, reach, helped);
    }

    /// Returns the memory of a long table to the system.
    pub(in super::super) fn shrink(&mut self) {
        self.table.shrink(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_cover_the_range() {
        assert_eq!(cuts(5..6, 8), [5, 6]);
        assert_eq!(cuts(0..24, 8), [0, 8, 16, 24]);
        assert_eq!(cuts(0..32, 8), [0, 8, 16, 20, 24, 26, 28, 30, 32]);
        assert_eq!(cuts(1..30, 8), [1, 9, 14, 18, 22, 24, 26, 28, 30]);
        for len in 1..300 {
            let cuts = cuts(7..7 + len, 9);
            assert_eq!((cuts[0], cuts[cuts.len() - 1]), (7, 7 + len));
            assert!(
                cuts.windows(2)
                    .all(|cut| cut[0] < cut[1] && cut[1] - cut[0] <= 9),
                "{cuts:?}"
            );
        }
    }
}
