//! Finds matches by chains of positions whose next bytes have one hash.
//!
//! **Invariant:** of the matches at a position each is longer and farther than the one before.

use crate::codec::match_finder::agreement;

/// How hard matches are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::codec) struct Effort {
    /// How many earlier positions are compared.
    pub(in crate::codec) depth: u32,
    /// A match of so many bytes is taken without a search for others.
    pub(in crate::codec) nice: usize,
    /// How often the items are chosen anew with better costs.
    pub(in crate::codec) passes: u32,
}

/// The most matches of a position.
const MOST: usize = 12;

/// Bits of a hash of two and of three bytes.
const PAIR_BITS: u32 = 12;
const TRIPLE_BITS: u32 = 15;

/// The multiplier of hashes: 2^32 over the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;

/// No earlier position.
const NONE: u32 = u32::MAX;

/// The matches of every position of a block; keeps its memory between blocks.
#[derive(Debug, Default)]
pub(in crate::codec) struct ChunkMatches {
    found: Vec<(u32, u32)>,
    /// Where the matches of each position start in `found`, and their end.
    starts: Vec<u32>,
    pairs: Vec<u32>,
    triples: Vec<u32>,
    /// The earlier position with the same hash of three bytes.
    chain: Vec<u32>,
}

impl ChunkMatches {
    /// Returns the matches at a position: lengths and distances.
    #[inline]
    pub(in crate::codec) fn at(&self, at: usize) -> &[(u32, u32)] {
        match self.starts.get(at..at + 2) {
            Some([start, end]) => self
                .found
                .get(*start as usize..*end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Finds all matches of at least `least` (2 or 3) and at most `most` bytes.
    pub(in crate::codec) fn find(
        &mut self,
        block: &[u8],
        effort: Effort,
        least: usize,
        most: usize,
    ) {
        self.found.clear();
        self.starts.clear();
        self.pairs.clear();
        self.pairs.resize(1 << PAIR_BITS, NONE);
        self.triples.clear();
        self.triples.resize(1 << TRIPLE_BITS, NONE);
        self.chain.clear();
        self.chain.resize(block.len(), NONE);
        let mut skip_to = 0;
        for at in 0..block.len() {
            self.starts
                .push(u32::try_from(self.found.len()).unwrap_or(NONE));
            let Some([a, b, c]) = block.get(at..).and_then(<[u8]>::first_chunk).copied() else {
                continue;
            };
            let pair = (u32::from(a) | (u32::from(b) << 8)).wrapping_mul(SPREAD);
            let triple = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(SPREAD);
            let here = u32::try_from(at).unwrap_or(NONE);
            let before = replace(&mut self.triples, triple >> (32 - TRIPLE_BITS), here);
            let pair_before = match least {
                2 => replace(&mut self.pairs, pair >> (32 - PAIR_BITS), here),
                _ => NONE,
            };
            if let Some(link) = self.chain.get_mut(at) {
                *link = before;
            }
            if at < skip_to {
                continue;
            }
            let longest = self.search(block, at, effort, (pair_before, before), least, most);
            if longest >= effort.nice {
                skip_to = at + longest;
            }
        }
        self.starts
            .push(u32::try_from(self.found.len()).unwrap_or(NONE));
    }

    /// Adds the matches of a position and returns the length of the longest.
    fn search(
        &mut self,
        block: &[u8],
        at: usize,
        effort: Effort,
        (pair, mut next): (u32, u32),
        least: usize,
        most: usize,
    ) -> usize {
        let most = most.min(block.len() - at);
        let (mut best, mut count) = (least - 1, 0);
        let mut take = |found: &mut Vec<(u32, u32)>, earlier: usize, best: &mut usize| {
            // a longer match agrees in the byte after the best one
            if block.get(earlier + *best) != block.get(at + *best) {
                return;
            }
            let len = agreement(block, at, earlier, most);
            if len > *best {
                *best = len;
                let distance = u32::try_from(at - earlier).unwrap_or(NONE);
                let entry = (u32::try_from(len).unwrap_or(0), distance);
                if count < MOST {
                    found.push(entry);
                    count += 1;
                } else if let Some(last) = found.last_mut() {
                    *last = entry;
                }
            }
        };
        if pair != NONE && best < most {
            take(&mut self.found, pair as usize, &mut best);
        }
        for _ in 0..effort.depth {
            if next == NONE || best >= most || best >= effort.nice {
                break;
            }
            take(&mut self.found, next as usize, &mut best);
            next = self.chain.get(next as usize).copied().unwrap_or(NONE);
        }
        best
    }
}

fn replace(table: &mut [u32], index: u32, position: u32) -> u32 {
    match table.get_mut(index as usize) {
        Some(entry) => std::mem::replace(entry, position),
        None => NONE,
    }
}
