//! Chunks: the content of each file, including holes.
//!
//! In: the lists of the content map in the order of the chunk table. Out: the columns of `chunks`,
//! `chunk_table` and the size cache. **Invariant:** chunks adjacent in a file and in a block are
//! merged, and so are adjacent holes.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes are of chunks pushed here; `push_list` checks that their number has 32 bits"
)]

use std::collections::BTreeMap;

use sinterfs_model::{ContentMap, Error, MapExtent, Result};

use crate::layout::metadata::chunk::OFFSET_IS_LARGE_HOLE;

/// Files with at least this many chunks have their size in the cache; upstream's default.
pub(super) const CACHED_CHUNKS: u32 = 128;

/// The chunks of all files.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// The block of each chunk, or `hole_block` for a hole.
    pub(super) block: Vec<u32>,
    /// Its offset in the block.
    pub(super) offset: Vec<u32>,
    /// Its length.
    pub(super) size: Vec<u32>,
    /// The number of chunks of each row of the chunk table.
    pub(super) counts: Vec<u32>,
    /// The bytes of each row, including holes.
    pub(super) sizes: Vec<u64>,
    /// The bytes in holes, of rows that have some.
    pub(super) hole_bytes: BTreeMap<u32, u64>,
    /// The lengths of holes that do not fit a chunk's fields.
    pub(super) large_holes: Vec<u64>,
    /// The chunk and length of each hole, before encoding.
    holes: Vec<(u32, u64)>,
    /// The block number that marks a hole: the number of blocks.
    hole_block: u32,
}

impl Chunks {
    /// Collects the chunks of lists; blocks are of up to 2^`block_bits` bytes, and have the lengths
    /// in `blocks`.
    pub(super) fn new(
        map: &ContentMap,
        lists: &[Option<u32>],
        blocks: &[u32],
        block_bits: u8,
    ) -> Result<Self> {
        let mut chunks = Self {
            hole_block: u32::try_from(blocks.len())
                .map_err(|_| Error::limit("more than 4294967295 blocks in a DwarFS image"))?,
            ..Self::default()
        };
        for &list in lists {
            let extents = list.map_or(&[][..], |list| map.list(list));
            chunks.push_list(extents, blocks)?;
        }
        chunks.encode_holes(block_bits);
        Ok(chunks)
    }

    /// Returns whether there are holes.
    pub(super) fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    /// Returns the block number of holes, if there are any.
    pub(super) fn hole_block(&self) -> Option<u32> {
        self.has_holes().then_some(self.hole_block)
    }

    fn push_list(&mut self, extents: &[MapExtent], blocks: &[u32]) -> Result<()> {
        let (row, first) = (self.counts.len() as u32, self.block.len());
        let (mut size, mut in_holes) = (0_u64, 0_u64);
        for extent in extents {
            let len = match *extent {
                MapExtent::Data { block, offset, len } => {
                    check(blocks, block.0, offset, len)?;
                    self.push_data(first, block.0, offset, len);
                    u64::from(len)
                }
                MapExtent::Hole { len } => {
                    self.push_hole(first, len)?;
                    in_holes = in_holes.saturating_add(len);
                    len
                }
            };
            size = size
                .checked_add(len)
                .filter(|&size| size <= i64::MAX.cast_unsigned())
                .ok_or_else(|| Error::limit("a file longer than 2^63 - 1 bytes"))?;
        }
        let end = u32::try_from(self.block.len())
            .map_err(|_| Error::limit("more than 4294967295 chunks in a DwarFS image"))?;
        self.counts.push(end - first as u32);
        self.sizes.push(size);
        if in_holes > 0 {
            self.hole_bytes.insert(row, in_holes);
        }
        Ok(())
    }

    fn push_data(&mut self, first: usize, block: u32, offset: u32, len: u32) {
        let last = self.block.len().wrapping_sub(1);
        let continues = self.block.len() > first
            && self.block[last] == block
            && self.offset[last] + self.size[last] == offset;
        if continues {
            self.size[last] += len;
        } else if len > 0 {
            self.push(block, offset, len);
        }
    }

    fn push_hole(&mut self, first: usize, len: u64) -> Result<()> {
        let continues = self.block.len() > first
            && self
                .holes
                .last()
                .is_some_and(|hole| hole.0 as usize + 1 == self.block.len());
        if continues {
            if let Some(hole) = self.holes.last_mut() {
                hole.1 = hole.1.saturating_add(len);
            }
        } else if len > 0 {
            let chunk = u32::try_from(self.block.len())
                .map_err(|_| Error::limit("more than 4294967295 chunks in a DwarFS image"))?;
            self.holes.push((chunk, len));
            self.push(self.hole_block, 0, 0);
        }
        Ok(())
    }

    fn push(&mut self, block: u32, offset: u32, size: u32) {
        self.block.push(block);
        self.offset.push(offset);
        self.size.push(size);
    }

    /// Stores the lengths of holes as `size * block_size + offset`. A length whose `size` would
    /// widen that field of all chunks may be stored in `large_holes` instead, which widens `offset`
    /// to 32 bits: the form with fewer bits in total is used.
    fn encode_holes(&mut self, block_bits: u8) {
        let inline = |len: u64| u32::try_from(len >> block_bits).ok();
        let width = |value: u32| u64::from(32 - value.leading_zeros());
        let mask = (1_u64 << block_bits) - 1;
        let data_bits = width(self.size.iter().fold(0, |all, size| all | size));
        let widest = self
            .holes
            .iter()
            .filter_map(|hole| inline(hole.1))
            .map(width)
            .max()
            .unwrap_or(0);
        let must_be_large = self.holes.iter().any(|hole| inline(hole.1).is_none());
        let is_wide = |len: u64| inline(len).is_none_or(|size| width(size) > data_bits);

        let chunks = self.block.len() as u64;
        let offset_bits = width(self.offset.iter().fold(0, |all, offset| all | offset));
        let hole_offset_bits = self
            .holes
            .iter()
            .map(|hole| width((hole.1 & mask) as u32))
            .max()
            .unwrap_or(0);
        let wide = self.holes.iter().filter(|hole| is_wide(hole.1)).count() as u64;
        let all_inline = chunks * (offset_bits.max(hole_offset_bits) + data_bits.max(widest));
        let some_large = chunks * (32 + data_bits.max(width(wide as u32))) + wide * 64;
        let large = must_be_large || (widest > data_bits && some_large < all_inline);

        for &(chunk, len) in &self.holes {
            let chunk = chunk as usize;
            match inline(len).filter(|_| !(large && is_wide(len))) {
                Some(size) => {
                    self.offset[chunk] = (len & mask) as u32;
                    self.size[chunk] = size;
                }
                None => {
                    self.offset[chunk] = OFFSET_IS_LARGE_HOLE;
                    self.size[chunk] = self.large_holes.len() as u32;
                    self.large_holes.push(len);
                }
            }
        }
    }

    /// Returns the chunk table: the first chunk of each row and the end of the last; if packed, the
    /// differences of these.
    pub(super) fn table(&self, packed: bool) -> Vec<u32> {
        super::with_sentinel(&self.counts, packed)
    }

    /// Returns the cached sizes: rows and bytes of files with many chunks.
    pub(super) fn cached_sizes(&self) -> (Vec<u32>, Vec<u64>) {
        let rows = 0..self.counts.len() as u32;
        rows.filter(|&row| self.is_cached(row))
            .map(|row| (row, self.sizes[row as usize]))
            .unzip()
    }

    /// Returns the cached sizes without holes, of files with many chunks and holes.
    pub(super) fn cached_allocated(&self) -> (Vec<u32>, Vec<u64>) {
        let rows = self
            .hole_bytes
            .iter()
            .filter(|(row, _)| self.is_cached(**row));
        rows.map(|(&row, holes)| (row, self.sizes[row as usize] - holes))
            .unzip()
    }

    fn is_cached(&self, row: u32) -> bool {
        self.counts[row as usize] >= CACHED_CHUNKS
    }
}

/// Fails for an extent that is not within its block.
fn check(blocks: &[u32], block: u32, offset: u32, len: u32) -> Result<()> {
    let end = u64::from(offset) + u64::from(len);
    match blocks.get(block as usize) {
        Some(&block_len) if end <= u64::from(block_len) => Ok(()),
        Some(block_len) => Err(Error::invalid(format!(
            "content map: bytes {offset}..{end} of block {block}, which has {block_len}"
        ))),
        None => Err(Error::invalid(format!(
            "content map: block {block}, of {} that were put",
            blocks.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::BlockId;

    use super::*;

    fn data(block: u32, offset: u32, len: u32) -> MapExtent {
        MapExtent::Data {
            block: BlockId(block),
            offset,
            len,
        }
    }

    fn chunks(lists: &[&[MapExtent]], blocks: usize, bits: u8) -> Result<Chunks> {
        let mut map = ContentMap::new(0);
        let ids: Vec<Option<u32>> = lists.iter().map(|list| Some(map.push(list))).collect();
        Chunks::new(&map, &ids, &vec![1 << bits; blocks], bits)
    }

    /// Returns the holes' lengths as a reader finds them.
    fn lengths(chunks: &Chunks, bits: u8) -> Vec<u64> {
        (0..chunks.block.len())
            .filter(|&i| Some(chunks.block[i]) == chunks.hole_block())
            .map(|i| match chunks.offset[i] {
                OFFSET_IS_LARGE_HOLE => chunks.large_holes[chunks.size[i] as usize],
                offset => (u64::from(chunks.size[i]) << bits) + u64::from(offset),
            })
            .collect()
    }

    #[test]
    fn neighbours_are_joined_but_not_across_files() {
        let chunks = chunks(
            &[
                &[data(0, 0, 10), data(0, 10, 5), data(1, 15, 1)],
                &[data(1, 16, 4)],
                &[],
            ],
            2,
            10,
        )
        .unwrap();
        assert_eq!(chunks.block, [0, 1, 1]);
        assert_eq!(chunks.offset, [0, 15, 16]);
        assert_eq!(chunks.size, [15, 1, 4]);
        assert_eq!(chunks.table(false), [0, 2, 3, 3]);
        assert_eq!(chunks.table(true), [0, 2, 1, 0]);
        assert_eq!(chunks.sizes, [16, 4, 0]);
        assert!(!chunks.has_holes());
    }

    #[test]
    fn holes_of_any_length_are_kept() {
        let lens = [1, 1023, 1024, 5 << 30, 1 << 42, (1 << 42) - 1, 1 << 62];
        let lists: Vec<[MapExtent; 3]> = lens
            .iter()
            .map(|&len| [data(0, 0, 1), MapExtent::Hole { len }, data(0, 0, 1)])
            .collect();
        let refs: Vec<&[MapExtent]> = lists.iter().map(<[_; 3]>::as_slice).collect();
        let chunks = chunks(&refs, 1, 10).unwrap();
        assert_eq!(lengths(&chunks, 10), lens);
        assert!(chunks.large_holes.contains(&(1 << 62)));
        assert_eq!(chunks.hole_block(), Some(1));
    }

    #[test]
    fn one_long_hole_among_many_chunks_does_not_widen_them() {
        let mut extents: Vec<MapExtent> = (0..1000).map(|i| data(0, i * 2, 1)).collect();
        extents.push(MapExtent::Hole { len: 1 << 40 });
        let inline = chunks(&[&extents], 1, 20).unwrap();
        // 21 bits per chunk inline, 33 bits otherwise
        assert!(inline.large_holes.is_empty());
        let wide: Vec<MapExtent> = extents
            .iter()
            .copied()
            .chain([data(0, (1 << 30) - 1, 1)])
            .collect();
        let chunks = chunks(&[&wide], 1, 30).unwrap();
        assert_eq!(lengths(&chunks, 30), [1 << 40]);
        assert_eq!(chunks.large_holes, [1 << 40]);
    }

    #[test]
    fn adjacent_holes_are_joined() {
        let hole = MapExtent::Hole { len: 700 };
        let chunks = chunks(&[&[hole, hole], &[hole]], 0, 10).unwrap();
        assert_eq!(lengths(&chunks, 10), [1400, 700]);
        assert_eq!(chunks.sizes, [1400, 700]);
        assert_eq!(chunks.hole_bytes, BTreeMap::from([(0, 1400), (1, 700)]));
    }

    #[test]
    fn long_files_are_cached() {
        let many: Vec<MapExtent> = (0..127).map(|i| data(0, i * 2, 1)).collect();
        let more: Vec<MapExtent> = many
            .iter()
            .copied()
            .chain([MapExtent::Hole { len: 9 }])
            .collect();
        let chunks = chunks(&[&many, &more], 1, 10).unwrap();
        assert_eq!(chunks.cached_sizes(), (vec![1], vec![136]));
        assert_eq!(chunks.cached_allocated(), (vec![1], vec![127]));
    }

    #[test]
    fn refuses_chunks_outside_blocks() {
        assert!(chunks(&[&[data(1, 0, 1)]], 1, 10).is_err());
        assert!(chunks(&[&[data(0, 1000, 25)]], 1, 10).is_err());
        let half = MapExtent::Hole { len: 1 << 62 };
        assert!(chunks(&[&[half, data(0, 0, 1), half]], 1, 10).is_err());
    }
}
