//! Finds content that earlier segments contain, for formats that cut each file separately.
//!
//! Enters segments in sequence, with their anchors; leaves for each the ranges that an earlier
//! segment, or its own beginning, contains. Repeats may themselves be referred to: the format
//! decides which it can use when both segments are encoded, and the newest position is most likely
//! to match what follows. **Invariant:** every repeat was compared byte by byte; the repeats of a
//! segment are in order and do not overlap. Memory: `MatchStore` and the table of anchors.

use std::sync::Arc;

use sinterfs_model::{BlockId, Repeat, Result};

use crate::anchors::{Anchor, Anchors, BlockPosition};
use crate::match_store::{MatchStore, Retention};

/// How repeats are searched.
#[derive(Debug, Clone)]
pub(crate) struct RepeatSearch {
    /// The shortest repeat that is reported.
    pub shortest: u32,
    /// The most bytes of a segment.
    pub unit: u32,
    /// The window of the codec within a segment.
    pub codec_window: u64,
    /// The most bytes of all content.
    pub total: u64,
    /// Limits on the segments that stay comparable.
    pub retention: Retention,
}

/// Finds repeats in all segments so far.
pub(crate) struct RepeatFinder {
    shortest: usize,
    codec_window: u64,
    anchors: Anchors,
    store: MatchStore,
}

impl RepeatFinder {
    /// Creates a finder without segments.
    pub fn new(search: RepeatSearch) -> Self {
        Self {
            shortest: search.shortest as usize,
            codec_window: search.codec_window,
            anchors: Anchors::new(search.total, search.unit),
            store: MatchStore::new(search.retention),
        }
    }

    /// Adds the next segment and returns its repeats.
    pub fn find(&mut self, data: &Arc<Vec<u8>>, anchors: &[Anchor]) -> Result<Vec<Repeat>> {
        let own = self.store.keep(data)?;
        let mut found: Vec<Repeat> = Vec::new();
        // bytes before `done` are in a repeat, anchors before `blind` in one that is too short
        let (mut done, mut blind) = (0, 0);
        for anchor in anchors {
            let end = anchor.end as usize;
            if end > done
                && end >= blind
                && let Some(place) = self.anchors.get(anchor.hash)
                && place.block <= own
            {
                let (repeat, to) = self.compare(own, place, data, done, end)?;
                match repeat {
                    Some(repeat) => {
                        found.push(repeat);
                        done = to;
                    }
                    // searching within it again would be quadratic
                    None => blind = to,
                }
            }
            let offset = anchor.end;
            self.anchors
                .put(anchor.hash, BlockPosition { block: own, offset });
        }
        Ok(found)
    }

    /// Compares the bytes around an anchor with those around an earlier position; returns the
    /// repeat, and where the two stop being equal.
    fn compare(
        &mut self,
        own: u32,
        place: BlockPosition,
        data: &[u8],
        from: usize,
        end: usize,
    ) -> Result<(Option<Repeat>, usize)> {
        let (before, after) = data.split_at(end);
        let back = self.store.suffix(place, &before[from..])?;
        if back == 0 {
            return Ok((None, end));
        }
        let mut to = end + self.store.prefix(place, after)?;
        let (start, offset) = (end - back, place.offset as usize - back);
        let mut agrees = true;
        if place.block == own {
            // the codec finds near repeats itself; a range cannot repeat itself
            let distance = start - offset;
            agrees = distance as u64 >= self.codec_window;
            to = to.min(start + distance);
        }
        let len = to.saturating_sub(start);
        let repeat = Repeat {
            start: start as u32,
            len: len as u32,
            block: BlockId(place.block),
            offset: offset as u32,
        };
        let is_long = agrees && len >= self.shortest;
        Ok((is_long.then_some(repeat), to.max(end)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use sinterfs_testkit::noise;

    use super::*;
    use crate::anchors::{Finder, Spacing};
    use sinterfs_platform::Scratch;

    fn search(room: u64) -> RepeatFinder {
        RepeatFinder::new(RepeatSearch {
            shortest: 4096,
            unit: 1 << 20,
            codec_window: 50_000,
            total: 8 << 20,
            retention: Retention {
                max_blocks: usize::MAX,
                max_bytes: room,
                lookback: usize::MAX,
                scratch: Scratch::new(std::env::temp_dir()),
            },
        })
    }

    fn find(repeats: &mut RepeatFinder, data: Vec<u8>) -> Vec<Repeat> {
        let anchors = Finder::new(Spacing::for_content(8 << 20)).find(&data);
        repeats.find(&Arc::new(data), &anchors).unwrap()
    }

    #[test]
    fn repeats_are_found_to_the_byte_wherever_they_were() {
        let (a, b) = (noise(1, 300_000), noise(2, 200_000));
        // in memory, and in the scratch file
        for room in [u64::MAX, 0] {
            let mut repeats = search(room);
            assert_eq!(find(&mut repeats, a.clone()), []);
            let mixed = [&b[..], &a[1000..250_001], &b[..3000], &a[7..20_000]].concat();
            let at = |start: usize, len: usize, block, offset| Repeat {
                start: start as u32,
                len: len as u32,
                block: BlockId(block),
                offset,
            };
            let expected = [at(200_000, 249_001, 0, 1000), at(452_001, 19_993, 0, 7)];
            let found = find(&mut repeats, mixed.clone());
            // the second of these is newest in the segment itself, but for its beginning
            assert_eq!(found.len(), 2, "{found:?}");
            assert_eq!(found[0], expected[0]);
            let last = found[1];
            let from = last.offset as usize;
            let len = last.len as usize;
            let source = if last.block == BlockId(0) { &a } else { &mixed };
            assert_eq!(mixed[last.start as usize..][..len], source[from..][..len]);
            assert_eq!(last.start + last.len, mixed.len() as u32);
            // the newest has more in common
            let whole = find(&mut repeats, mixed.clone());
            assert_eq!(whole, [at(0, mixed.len(), 1, 0)]);
        }
    }

    #[test]
    fn repeats_within_the_codec_window_are_not_reported() {
        let mut repeats = search(u64::MAX);
        let near = noise(3, 20_000);
        assert_eq!(find(&mut repeats, [&near[..], &near].concat()), []);
        let far = noise(4, 60_000);
        let found = find(&mut repeats, [&far[..], &far, &far].concat());
        let parts: u32 = found.iter().map(|repeat| repeat.len).sum();
        assert_eq!(parts, 120_000, "{found:?}");
        for repeat in found {
            assert!(repeat.block == BlockId(1) && repeat.offset + repeat.len <= repeat.start);
        }
    }
}
