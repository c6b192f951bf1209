//! Finds tails of files that fragments already contain.
//!
//! Enters each tail before it goes into a fragment; leaves its longest suffix that a fragment
//! contains. Candidates are positions where other tails end with as many equal bytes as one of
//! `LENGTHS`, the newest for each length. **Invariant:** matches are compared byte by byte and lie
//! within one fragment. Memory: fragments up to `Retention::max_bytes`, the others in the scratch
//! file; 8 bytes for each KiB of content for the table.

use std::sync::Arc;

use sinterfs_model::{BlockId, Result};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::anchors::{Anchors, BlockPosition};
use crate::match_store::{MatchStore, Retention, common_suffix};

/// The least lengths of the suffix that candidates have in common with a tail.
const LENGTHS: [usize; 4] = [64, 512, 4096, 32 << 10];

/// How much rarer tails are than anchors, for the size of the table.
const SCARCITY: u64 = 8;

/// How equal tails are searched.
#[derive(Debug, Clone)]
pub(crate) struct TailSearch {
    /// The most bytes of a fragment.
    pub unit: u32,
    /// The most bytes of all content.
    pub total: u64,
    /// Limits on the fragments that stay comparable.
    pub retention: Retention,
}

/// A stored suffix of a tail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailMatch {
    /// The fragment, by order of opening.
    pub fragment: u32,
    /// Its offset in the fragment.
    pub offset: u32,
    /// Its length.
    pub len: usize,
}

/// A complete fragment.
#[derive(Debug, Clone, Copy)]
struct ClosedFragment {
    /// Its number in the match store.
    store: u32,
    block: BlockId,
}

/// The tails in all fragments.
pub(crate) struct TailIndex {
    table: Anchors,
    store: MatchStore,
    /// The fragments by order of opening; `None` for open ones.
    fragments: Vec<Option<ClosedFragment>>,
}

impl TailIndex {
    /// Creates an empty index.
    pub fn new(search: TailSearch) -> Self {
        Self {
            table: Anchors::new(search.total / SCARCITY, search.unit),
            store: MatchStore::new(search.retention),
            fragments: Vec::new(),
        }
    }

    /// Opens a fragment and returns its number.
    pub fn open(&mut self) -> u32 {
        self.fragments.push(None);
        (self.fragments.len() - 1) as u32
    }

    /// Completes a fragment.
    pub fn close(&mut self, fragment: u32, block: BlockId, bytes: &Arc<Vec<u8>>) -> Result<()> {
        let store = self.store.keep(bytes)?;
        self.fragments[fragment as usize] = Some(ClosedFragment { store, block });
        Ok(())
    }

    /// Returns the block of a complete fragment; `None` for an open one.
    pub fn block(&self, fragment: u32) -> Option<BlockId> {
        self.fragments[fragment as usize].map(|closed| closed.block)
    }

    /// Returns the longest suffix of a tail found in a fragment; `open` returns the bytes of open
    /// ones.
    pub fn find<'a>(
        &mut self,
        tail: &[u8],
        open: impl Fn(u32) -> Option<&'a [u8]>,
    ) -> Result<Option<TailMatch>> {
        let mut best: Option<TailMatch> = None;
        for key in keys(tail) {
            let Some(place) = self.table.get(key) else {
                continue;
            };
            // hashes may collide
            let Some(&fragment) = self.fragments.get(place.block as usize) else {
                continue;
            };
            let len = match fragment {
                Some(ClosedFragment { store, .. }) => {
                    let place = BlockPosition {
                        block: store,
                        ..place
                    };
                    self.store.suffix(place, tail)?
                }
                None => open(place.block)
                    .and_then(|bytes| bytes.get(..place.offset as usize))
                    .map_or(0, |bytes| common_suffix(bytes, tail)),
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

    /// Records a tail that was put into a fragment and tails at an offset.
    pub fn note(&mut self, tail: &[u8], fragment: u32, offset: u32) {
        for key in keys(tail) {
            let block = fragment;
            self.table.put(key, BlockPosition { block, offset });
        }
    }
}

/// Returns the keys of a tail: hashes of its last bytes, and of all of it.
fn keys(tail: &[u8]) -> impl Iterator<Item = u64> {
    let parts = LENGTHS
        .into_iter()
        .filter_map(|len| tail.get(tail.len().checked_sub(len)?..));
    parts
        .chain([tail])
        .map(|part| xxh3_64_with_seed(part, part.len() as u64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use sinterfs_platform::Scratch;

    #[test]
    fn the_longest_suffix_is_found_in_open_and_complete_fragments() {
        let text: Vec<u8> = (0..30_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        for room in [u64::MAX, 0] {
            let mut tails = TailIndex::new(TailSearch {
                unit: 1 << 20,
                total: 1 << 20,
                retention: Retention {
                    max_blocks: usize::MAX,
                    max_bytes: room,
                    lookback: usize::MAX,
                    scratch: Scratch::new(std::env::temp_dir()),
                },
            });
            let fragment = tails.open();
            let bytes = Arc::new(text.clone());
            tails.note(&text[..5000], fragment, 5000);
            tails.note(&text[5000..], fragment, text.len() as u32);
            for is_open in [true, false] {
                if !is_open {
                    tails.close(fragment, BlockId(7), &bytes).unwrap();
                }
                assert_eq!(tails.block(fragment), (!is_open).then_some(BlockId(7)));
                let mut find = |tail: &[u8]| {
                    let found = tails.find(tail, |_| Some(&bytes[..])).unwrap();
                    found.map(|found| (found.offset, found.len))
                };
                // longer than the other tail, if that precedes it
                assert_eq!(find(&text[4000..]), Some((4000, text.len() - 4000)));
                let other = [&b"another"[..], &text[60_000..]].concat();
                assert_eq!(find(&other), Some((60_000, text.len() - 60_000)));
                assert_eq!(find(&text[100..5000]), Some((100, 4900)));
                assert_eq!(find(&text[..5001]), None);
                assert_eq!(find(b"short"), None);
            }
            let fragment = tails.open();
            tails.note(b"short", fragment, 5);
            let found = tails.find(b"short", |_| Some(b"short")).unwrap().unwrap();
            assert_eq!((found.fragment, found.offset, found.len), (1, 0, 5));
        }
    }
}
