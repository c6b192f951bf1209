//! Locates the content of files: contiguous blocks, holes among them, a tail in a fragment.
//!
//! In: the written blocks and the content map. Out: each file's first block, block sizes and
//! fragment.
//! **Invariant:** a map that does not follow the writer's geometry is an error.

use sinterfs_model::{ContentMap, Error, MapExtent, NodeId, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use crate::layout::{BlockWord, FragmentEntry, NO_FRAGMENT};

/// The largest number of blocks of a file, including holes: the inode has a word for each, and the
/// largest file of any system (8 EiB) would have terabytes of them.
const BLOCKS_MAX: u64 = u32::MAX as u64;

/// A written block.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenBlock {
    /// The position in the image.
    pub(super) start: u64,
    /// The stored length, and whether it is compressed.
    pub(super) word: BlockWord,
    /// The index among fragment blocks, or `NO_FRAGMENT`.
    pub(super) fragment: u32,
}

const _: () = assert!(size_of::<WrittenBlock>() == 16);

/// All written blocks, and the geometry of files.
#[derive(Debug)]
pub(super) struct ContentBlocks {
    pub(super) placed: Vec<WrittenBlock>,
    pub(super) unit: u32,
}

/// The location of a file's content.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ContentLocation {
    /// The position of the first block; zero without blocks.
    pub(super) start: u64,
    /// The size of the file in bytes.
    pub(super) size: u64,
    /// The bytes in holes.
    pub(super) sparse: u64,
    /// The fragment block of the tail, and the offset in it.
    pub(super) fragment: Option<(u32, u32)>,
}

impl ContentBlocks {
    /// Numbers the fragment blocks; returns their count.
    pub(super) fn number_fragments(&mut self) -> u32 {
        let mut count = 0;
        for placed in &mut self.placed {
            if placed.fragment != NO_FRAGMENT {
                placed.fragment = count;
                count += 1;
            }
        }
        count
    }

    /// Returns the records of the fragment table.
    pub(super) fn fragments(&self) -> impl Iterator<Item = Vec<u8>> {
        let fragments = self.placed.iter().filter(|b| b.fragment != NO_FRAGMENT);
        fragments.map(|block| {
            let entry = FragmentEntry {
                start: U64::new(block.start),
                size: block.word,
                unused: U32::new(0),
            };
            entry.as_bytes().to_vec()
        })
    }

    /// Returns the block and offset of a file's tail if it is in a fragment.
    fn tail_in_fragment(&self, extents: &[MapExtent]) -> Option<(u32, u32)> {
        let &MapExtent::Data { block, offset, len } = extents.last()? else {
            return None;
        };
        let placed = self.placed.get(block.0 as usize)?;
        let is_fragment = placed.fragment != NO_FRAGMENT;
        (is_fragment && len < self.unit).then_some((block.0, offset))
    }

    /// Locates the content of a file; calls `word` with the word of each block in order.
    pub(super) fn locate(
        &self,
        map: &ContentMap,
        file: NodeId,
        mut word: impl FnMut(BlockWord) -> Result<()>,
    ) -> Result<ContentLocation> {
        let mut place = ContentLocation::default();
        let mut extents = map.extents(file);
        if let Some((block, offset)) = self.tail_in_fragment(extents) {
            let (last, whole) = extents.split_last().ok_or_else(unsupported_layout)?;
            place.size = extent_len(last);
            place.fragment = Some((self.block(block)?.fragment, offset));
            extents = whole;
        }
        let unit = u64::from(self.unit);
        let mut next = None;
        for (index, extent) in extents.iter().enumerate() {
            let len = extent_len(extent);
            let at_end = index + 1 == extents.len() && place.fragment.is_none();
            if !(at_end || len.is_multiple_of(unit)) {
                return Err(unsupported_layout());
            }
            place.size += len;
            if place.size.div_ceil(unit) > BLOCKS_MAX {
                return Err(Error::limit(format!(
                    "a file of more than {BLOCKS_MAX} blocks of {unit} bytes"
                )));
            }
            match *extent {
                MapExtent::Hole { .. } => {
                    place.sparse += len;
                    for _ in 0..len.div_ceil(unit) {
                        word(BlockWord::HOLE)?;
                    }
                }
                MapExtent::Data { block, offset, .. } => {
                    let placed = self.block(block.0)?;
                    if offset != 0 || len > unit || next.is_some_and(|next| next != block.0) {
                        return Err(unsupported_layout());
                    }
                    if next.is_none() {
                        place.start = placed.start;
                    }
                    next = Some(block.0 + 1);
                    word(placed.word)?;
                }
            }
        }
        Ok(place)
    }

    fn block(&self, block: u32) -> Result<&WrittenBlock> {
        let placed = self.placed.get(block as usize);
        placed.ok_or_else(|| unknown_block(block))
    }
}

fn extent_len(extent: &MapExtent) -> u64 {
    match *extent {
        MapExtent::Data { len, .. } => u64::from(len),
        MapExtent::Hole { len } => len,
    }
}

#[cold]
fn unknown_block(block: u32) -> Error {
    Error::invalid(format!(
        "a file has content in block {block}, which was not written"
    ))
}

#[cold]
fn unsupported_layout() -> Error {
    Error::invalid("content was cut in a way that SquashFS cannot store")
}

#[cfg(test)]
mod tests {
    use sinterfs_model::BlockId;

    use super::*;

    const UNIT: u32 = 4096;

    fn blocks(fragments: &[u32]) -> ContentBlocks {
        let placed = (0..6u32).map(|n| WrittenBlock {
            start: 96 + u64::from(n) * 1000,
            word: BlockWord(U32::new(1000)),
            fragment: if fragments.contains(&n) {
                0
            } else {
                NO_FRAGMENT
            },
        });
        ContentBlocks {
            placed: placed.collect(),
            unit: UNIT,
        }
    }

    fn data(block: u32, offset: u32, len: u32) -> MapExtent {
        MapExtent::Data {
            block: BlockId(block),
            offset,
            len,
        }
    }

    fn map(lists: &[&[MapExtent]]) -> ContentMap {
        let mut map = ContentMap::new(lists.len());
        for (index, list) in lists.iter().enumerate() {
            let list = map.push(list);
            map.assign(NodeId(index as u32), list);
        }
        map
    }

    fn place(
        blocks: &ContentBlocks,
        map: &ContentMap,
        file: u32,
    ) -> Result<(ContentLocation, Vec<u32>)> {
        let mut words = Vec::new();
        let place = blocks.locate(map, NodeId(file), |word| {
            words.push(word.0.get());
            Ok(())
        })?;
        Ok((place, words))
    }

    #[test]
    fn ends_lie_where_the_geometry_says() {
        let hole = MapExtent::Hole {
            len: u64::from(UNIT) * 2,
        };
        let lists: [&[MapExtent]; 4] = [
            &[data(0, 0, UNIT), hole, data(1, 0, UNIT), data(2, 0, 10)],
            &[data(3, 20, 10)],
            &[data(4, 0, UNIT), hole, MapExtent::Hole { len: 5 }],
            &[],
        ];
        let map = map(&lists);
        let mut shared = blocks(&[2, 3]);
        assert_eq!(shared.number_fragments(), 2);
        let (first, words) = place(&shared, &map, 0).unwrap();
        assert_eq!(words, [1000, 0, 0, 1000]);
        let expected = ContentLocation {
            start: 96,
            size: u64::from(UNIT) * 4 + 10,
            sparse: u64::from(UNIT) * 2,
            fragment: Some((0, 0)),
        };
        assert_eq!(first, expected);
        assert_eq!(place(&shared, &map, 1).unwrap().0.fragment, Some((1, 20)));

        let mut small = blocks(&[3]);
        assert_eq!(small.number_fragments(), 1);
        let (first, words) = place(&small, &map, 0).unwrap();
        assert_eq!((first.fragment, words.len()), (None, 5));
        let (third, words) = place(&small, &map, 2).unwrap();
        assert_eq!(words, [1000, 0, 0, 0]);
        assert_eq!(third.size, u64::from(UNIT) * 3 + 5);
        assert_eq!(
            place(&small, &map, 3).unwrap().0,
            ContentLocation::default()
        );
    }

    #[test]
    fn refuses_blocks_outside_the_geometry() {
        let endless = MapExtent::Hole {
            len: u64::from(UNIT) << 32,
        };
        let lists: [&[MapExtent]; 7] = [
            &[data(0, 0, 5), data(1, 0, UNIT)],
            &[data(0, 0, UNIT), data(2, 0, UNIT)],
            &[data(0, 7, UNIT)],
            &[data(9, 0, UNIT)],
            &[MapExtent::Hole { len: 5 }, data(0, 0, UNIT)],
            &[data(0, 0, UNIT + 1)],
            &[endless],
        ];
        let map = map(&lists);
        let blocks = blocks(&[]);
        for file in 0..lists.len() as u32 {
            assert!(place(&blocks, &map, file).is_err(), "{file}");
        }
    }
}
