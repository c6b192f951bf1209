//! Finds ends of files that fragments have already.
//!
//! Enters each end before it goes into a fragment; leaves the longest part of it, from some byte to its last,
//! that stands in a fragment. Candidates are places where other ends end with as many equal bytes as one of
//! `LENGTHS`, the newest for each. **Invariant:** what is found was compared byte by byte, and lies in one
//! fragment. Memory: fragments up to `Retention::room`, the others in the scratch file; 8 bytes a KiB of
//! content for the table.

use std::sync::Arc;

use sinterfs_model::{BlockId, Result};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::anchors::{Anchors, BlockPosition};
use crate::match_store::{MatchStore, Retention, common_suffix};

/// How many last bytes candidates have in common with an end at least.
const LENGTHS: [usize; 4] = [64, 512, 4096, 32 << 10];

/// Content for one entry of the table, in bytes that anchors would have for it.
const SCARCITY: u64 = 8;

/// How ends are looked for.
#[derive(Debug, Clone)]
pub(crate) struct TailSearch {
    /// The most bytes of a fragment.
    pub unit: u32,
    /// The bytes that will come at most.
    pub total: u64,
    /// What is done with fragments.
    pub retention: Retention,
}

/// Where the last bytes of an end stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailMatch {
    /// The fragment, by number of opening.
    pub fragment: u32,
    /// Where they begin in it.
    pub offset: u32,
    /// Their number.
    pub len: usize,
}

/// A fragment that is complete.
#[derive(Debug, Clone, Copy)]
struct ClosedFragment {
    /// Its number in `past`.
    past: u32,
    block: BlockId,
}

/// The ends in all fragments.
pub(crate) struct TailIndex {
    table: Anchors,
    past: MatchStore,
    /// The fragments by number of opening; `None` for those that are open.
    fragments: Vec<Option<ClosedFragment>>,
}

impl TailIndex {
    /// Starts with no fragment.
    pub fn new(search: TailSearch) -> Self {
        Self {
            table: Anchors::new(search.total / SCARCITY, search.unit),
            past: MatchStore::new(search.retention),
            fragments: Vec::new(),
        }
    }

    /// Returns a fragment that is opened its number.
    pub fn open(&mut self) -> u32 {
        self.fragments.push(None);
        (self.fragments.len() - 1) as u32
    }

    /// Says that a fragment is complete.
    pub fn close(&mut self, fragment: u32, block: BlockId, bytes: &Arc<Vec<u8>>) -> Result<()> {
        let past = self.past.keep(bytes)?;
        self.fragments[fragment as usize] = Some(ClosedFragment { past, block });
        Ok(())
    }

    /// Returns the block that a fragment became; `None` if it is open.
    pub fn block(&self, fragment: u32) -> Option<BlockId> {
        self.fragments[fragment as usize].map(|closed| closed.block)
    }

    /// Finds as many last bytes of an end as stand in a fragment; `open` gives the bytes of one that is open.
    pub fn find<'a>(
        &mut self,
        end: &[u8],
        open: impl Fn(u32) -> Option<&'a [u8]>,
    ) -> Result<Option<TailMatch>> {
        let mut best: Option<TailMatch> = None;
        for key in keys(end) {
            let Some(place) = self.table.get(key) else {
                continue;
            };
            // a hash may lead anywhere
            let Some(&fragment) = self.fragments.get(place.block as usize) else {
                continue;
            };
            let len = match fragment {
                Some(ClosedFragment { past, .. }) => {
                    let place = BlockPosition {
                        block: past,
                        ..place
                    };
                    self.past.suffix(place, end)?
                }
                None => open(place.block)
                    .and_then(|bytes| bytes.get(..place.offset as usize))
                    .map_or(0, |bytes| common_suffix(bytes, end)),
            };
            if len > best.map_or(0, |best| best.len) {
                best = Some(TailMatch {
                    fragment: place.block,
                    offset: place.offset - len as u32,
                    len,
                });
            }
        }
        Ok(best)
    }

    /// Notes that an end was put into a fragment, up to an offset.
    pub fn note(&mut self, end: &[u8], fragment: u32, offset: u32) {
        for key in keys(end) {
            let block = fragment;
            self.table.put(key, BlockPosition { block, offset });
        }
    }
}

/// Returns the names of an end: hashes of its last bytes, and of all of it.
fn keys(end: &[u8]) -> impl Iterator<Item = u64> {
    let parts = LENGTHS
        .into_iter()
        .filter_map(|len| end.get(end.len().checked_sub(len)?..));
    parts
        .chain([end])
        .map(|part| xxh3_64_with_seed(part, part.len() as u64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_longest_end_is_found_in_open_and_in_complete_fragments() {
        let text: Vec<u8> = (0..30_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        for room in [u64::MAX, 0] {
            let mut ends = TailIndex::new(TailSearch {
                unit: 1 << 20,
                total: 1 << 20,
                retention: Retention {
                    kept: usize::MAX,
                    room,
                    lookback: usize::MAX,
                    scratch: Scratch::new(std::env::temp_dir()),
                },
            });
            let fragment = ends.open();
            let bytes = Arc::new(text.clone());
            ends.note(&text[..5000], fragment, 5000);
            ends.note(&text[5000..], fragment, text.len() as u32);
            for is_open in [true, false] {
                if !is_open {
                    ends.close(fragment, BlockId(7), &bytes).unwrap();
                }
                assert_eq!(ends.block(fragment), (!is_open).then_some(BlockId(7)));
                let mut find = |end: &[u8]| {
                    let found = ends.find(end, |_| Some(&bytes[..])).unwrap();
                    found.map(|found| (found.offset, found.len))
                };
                // more than the other one, if that stands in front of it
                assert_eq!(find(&text[4000..]), Some((4000, text.len() - 4000)));
                let other = [&b"another"[..], &text[60_000..]].concat();
                assert_eq!(find(&other), Some((60_000, text.len() - 60_000)));
                assert_eq!(find(&text[100..5000]), Some((100, 4900)));
                assert_eq!(find(&text[..5001]), None);
                assert_eq!(find(b"short"), None);
            }
            let fragment = ends.open();
            ends.note(b"short", fragment, 5);
            let found = ends.find(b"short", |_| Some(b"short")).unwrap().unwrap();
            assert_eq!((found.fragment, found.offset, found.len), (1, 0, 5));
        }
    }
}
