//! Follows a list of the base image while a file of probably the same content is read, and counts
//! what the build uses of the base.
//!
//! Enters the extents of a list of the base and the data of the file; leaves the positions that the
//! data was found at. **Invariant:** every byte was compared.

use sinterfs_model::{MapExtent, Result};

use crate::anchors::BlockPosition;
use crate::base::BaseBlocks;
use crate::match_store::MatchStore;

/// A list of the base, and how far it was followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BaseFollower {
    /// The list.
    pub list: u32,
    /// The next extent.
    extent: usize,
    /// Bytes of it that were followed already.
    done: u64,
}

impl BaseFollower {
    /// Starts at the beginning of a list.
    pub fn new(list: u32) -> Self {
        Self {
            list,
            extent: 0,
            done: 0,
        }
    }

    /// Returns the positions of the next bytes, or `None` if the list continues differently, after
    /// which it must not be followed any further.
    pub fn data(
        &mut self,
        list: &[MapExtent],
        bytes: &[u8],
        store: &mut MatchStore,
    ) -> Result<Option<Vec<(BlockPosition, usize)>>> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(&MapExtent::Data { block, offset, len }) = list.get(self.extent) else {
                return Ok(None);
            };
            let left = (u64::from(len) - self.done).min(rest.len() as u64) as usize;
            let place = BlockPosition {
                block: block.0,
                offset: offset + self.done as u32,
            };
            let (same, after) = rest.split_at(left);
            if store.prefix(place, same)? < same.len() {
                return Ok(None);
            }
            found.push((place, left));
            rest = after;
            self.advance(left as u64, u64::from(len));
        }
        Ok(Some(found))
    }

    /// Skips a hole; returns whether the list has one of that length here.
    pub fn hole(&mut self, list: &[MapExtent], mut len: u64) -> bool {
        while len > 0 {
            let Some(&MapExtent::Hole { len: all }) = list.get(self.extent) else {
                return false;
            };
            let left = (all - self.done).min(len);
            len -= left;
            self.advance(left, all);
        }
        true
    }

    fn advance(&mut self, by: u64, len: u64) {
        self.done += by;
        if self.done == len {
            (self.extent, self.done) = (self.extent + 1, 0);
        }
    }
}

/// The used parts of a base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BaseUsage {
    /// The used blocks, ascending.
    pub blocks: Vec<u32>,
    /// Bytes of those blocks.
    pub bytes: u64,
    /// Bytes of those blocks that files use.
    pub used: u64,
}

impl BaseUsage {
    /// Counts what extents use of the base. Blocks are in order of opening, the base's first.
    pub fn of(base: &BaseBlocks, extents: &[MapExtent]) -> Self {
        let mut ranges: Vec<(u32, u32, u32)> = extents
            .iter()
            .filter_map(|extent| match *extent {
                MapExtent::Data { block, offset, len } => Some((block.0, offset, len)),
                MapExtent::Hole { .. } => None,
            })
            .filter(|range| (range.0 as usize) < base.blocks.len())
            .collect();
        ranges.sort_unstable();
        let mut used = Self::default();
        let mut end = 0;
        for (block, offset, len) in ranges {
            if used.blocks.last() != Some(&block) {
                used.blocks.push(block);
                used.bytes += u64::from(base.blocks[block as usize].len);
                end = 0;
            }
            let until = u64::from(offset) + u64::from(len);
            used.used += until.saturating_sub(end.max(u64::from(offset)));
            end = end.max(until);
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::BlockId;

    use super::*;
    use crate::match_store::Retention;
    use sinterfs_platform::Scratch;

    fn data(block: u32, offset: u32, len: u32) -> MapExtent {
        let block = BlockId(block);
        MapExtent::Data { block, offset, len }
    }

    /// Stores blocks with the given bytes.
    fn store(blocks: &[&[u8]]) -> MatchStore {
        let mut store = MatchStore::new(Retention {
            max_blocks: 9,
            max_bytes: u64::MAX,
            lookback: 9,
            scratch: Scratch::new(std::env::temp_dir()),
        });
        for bytes in blocks {
            let block = store.open(bytes.len());
            store.append(block, bytes).unwrap();
            store.close(block).unwrap();
        }
        store
    }

    fn places(found: Option<Vec<(BlockPosition, usize)>>) -> Option<Vec<(u32, u32, usize)>> {
        let place = |(place, len): &(BlockPosition, usize)| (place.block, place.offset, *len);
        found.map(|found| found.iter().map(place).collect())
    }

    #[test]
    fn a_list_is_followed_whatever_the_buffers() {
        let list = [
            data(1, 2, 4),
            data(0, 0, 3),
            MapExtent::Hole { len: 9 },
            data(0, 3, 1),
        ];
        let mut store = store(&[b"efgz", b"..abcd.."]);
        let mut reading = BaseFollower::new(0);
        let mut next = |bytes: &[u8]| places(reading.data(&list, bytes, &mut store).unwrap());
        assert_eq!(next(b"a"), Some(vec![(1, 2, 1)]));
        assert_eq!(next(b"bcdef"), Some(vec![(1, 3, 3), (0, 0, 2)]));
        assert_eq!(next(b"g"), Some(vec![(0, 2, 1)]));
        assert!(reading.hole(&list, 4) && reading.hole(&list, 5));
        let mut next = |bytes: &[u8]| places(reading.data(&list, bytes, &mut store).unwrap());
        assert_eq!(next(b"z"), Some(vec![(0, 3, 1)]));
        assert_eq!(next(b"z"), None);
    }

    #[test]
    fn differences_are_noticed() {
        let list = [data(0, 0, 4), MapExtent::Hole { len: 9 }];
        let mut store = store(&[b"abcd"]);
        for wrong in [&b"abce"[..], b"x", b"abcde"] {
            assert_eq!(
                BaseFollower::new(0).data(&list, wrong, &mut store).unwrap(),
                None
            );
        }
        assert!(!BaseFollower::new(0).hole(&list, 1));
        let mut reading = BaseFollower::new(0);
        assert!(reading.data(&list, b"abcd", &mut store).unwrap().is_some());
        assert!(!reading.hole(&list, 10));
    }
}
