//! The matches of a stretch of a block, found once for several passes of the parser.
//!
//! In: a slice with its match table. Out: for each position of the stretch a few matches, each
//! longer and farther than the one before.
//!
//! **Invariant:** inside a match that is taken at once nothing else is looked for: each position
//! there has the rest of that match.

use std::ops::Range;

use crate::match_finder::{Finder, Slice};

use super::codes::{MAX_MATCH, MIN_MATCH};

/// A match: bytes that agree, and how far back they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) length: u32,
    pub(super) offset: u32,
}

/// The matches of a stretch.
#[derive(Debug)]
pub(super) struct Candidates {
    start: usize,
    /// Where the matches of each position end.
    ends: Vec<u32>,
    matches: Vec<Candidate>,
}

impl Candidates {
    /// Makes an empty list.
    pub(super) fn new() -> Self {
        Self {
            start: 0,
            ends: Vec::new(),
            matches: Vec::new(),
        }
    }

    /// Finds the matches of a range. A match of `nice` bytes is taken at once.
    pub(super) fn find(
        &mut self,
        slice: Slice<'_>,
        finder: &mut Finder<MIN_MATCH>,
        range: Range<usize>,
        nice: usize,
    ) {
        self.start = range.start;
        self.ends.clear();
        self.matches.clear();
        let mut position = range.start;
        while position < range.end {
            let most = (slice.block.len() - position).min(MAX_MATCH);
            let found = finder.find(slice.block, slice.table, position, most);
            let longest = found.last().copied().unwrap_or_default();
            let offset = longest.distance.wrapping_add(1);
            self.matches.extend(found.iter().map(|found| Candidate {
                length: found.length as u32,
                offset: found.distance.wrapping_add(1),
            }));
            self.ends.push(self.matches.len() as u32);
            position += 1;
            let inside = (position + longest.length.saturating_sub(nice)).min(range.end);
            finder.skip(slice.block, position..inside);
            for (length, _) in (0..longest.length as u32).rev().zip(position..inside) {
                self.matches.push(Candidate { length, offset });
                self.ends.push(self.matches.len() as u32);
            }
            position = inside;
        }
    }

    /// Returns the matches of a position in the range.
    #[inline(always)]
    pub(super) fn at(&self, position: usize) -> &[Candidate] {
        let index = position - self.start;
        let start = match index {
            0 => 0,
            _ => self.ends[index - 1] as usize,
        };
        let end = self.ends[index] as usize;
        self.matches.get(start..end).unwrap_or_default()
    }
}
