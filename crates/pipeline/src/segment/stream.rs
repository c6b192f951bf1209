//! Cuts content into blocks of one size, one content after another; the last two may be even.
//!
//! Enters the data of the contents in order; leaves full blocks as `Segment`s and, for each
//! content, its extents. Nothing is searched: what is equal within a block is left to the codec.
//! **Invariant:** see `Geometry::Stream`. Memory: one block.

use std::sync::Arc;

use sinterfs_model::{BlockId, Category, Error, MapExtent, Result, Segment};

use crate::segment::segmented::{ExtentList, Segmented};

/// The most open blocks in memory.
pub(crate) const OPEN_BLOCKS: u64 = 1;

/// Zeros that are stored in one step.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// How content is cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamOptions {
    /// Bytes of a full block.
    pub block_size: u32,
    /// The bytes of all content, if the last two blocks share what is left evenly. Where contents
    /// turn out to be longer or shorter, the blocks are less even.
    pub total: Option<u64>,
}

/// Cuts content; passes each full block to `emit`.
pub(crate) struct ContentStream<E> {
    block_size: usize,
    /// The bytes from the beginning of the open block on, until a block is closed early.
    left: Option<u64>,
    emit: E,
    open: Vec<u8>,
    /// Where contents begin in the open block.
    begins: Vec<u32>,
    result: Segmented,
    /// The first extent of the current content, and its length so far.
    first_extent: usize,
    size: u64,
}

impl<E: FnMut(Segment) -> Result<()>> ContentStream<E> {
    /// Creates a segmenter.
    pub fn new(options: StreamOptions, emit: E) -> Result<Self> {
        let StreamOptions { block_size, total } = options;
        if block_size == 0 {
            return Err(Error::invalid("a block size of 0 holds nothing"));
        }
        Ok(Self {
            block_size: block_size as usize,
            left: total,
            emit,
            open: Vec::new(),
            begins: Vec::new(),
            result: Segmented::default(),
            first_extent: 0,
            size: 0,
        })
    }

    /// Announces a content of `len` bytes. If two blocks are left, the open one is closed where
    /// the content would begin nearest to half of what is left.
    pub fn start(&mut self, len: u64) -> Result<()> {
        let Some(left) = self.left else {
            return Ok(());
        };
        let (block, open) = (self.block_size as u64, self.open.len() as u64);
        let two_are_left = left > block && left <= 2 * block;
        if !two_are_left || left - open > block || 2 * open + len < left {
            return Ok(());
        }
        self.left = None;
        self.seal()
    }

    /// Adds bytes to the current content.
    pub fn data(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let offset = self.open.len();
            let len = bytes.len().min(self.block_size - offset);
            let (part, rest) = bytes.split_at(len);
            if self.size == 0 {
                self.begins.push(offset as u32);
            }
            self.open.extend_from_slice(part);
            self.size += len as u64;
            self.add_extent(offset as u32, len as u32);
            bytes = rest;
            if self.open.len() == self.block_size {
                self.seal()?;
            }
        }
        Ok(())
    }

    /// Adds zeros to the current content.
    pub fn hole(&mut self, len: u64) -> Result<()> {
        let mut left = len;
        while left > 0 {
            let step = left.min(ZEROS.len() as u64);
            self.data(&ZEROS[..step as usize])?;
            left -= step;
        }
        Ok(())
    }

    /// Ends the current content and starts the next.
    pub fn end(&mut self) {
        self.result.lists.push(ExtentList {
            end: self.result.extents.len() as u64,
            size: self.size,
        });
        self.first_extent = self.result.extents.len();
        self.size = 0;
    }

    /// Emits the last block and returns the result.
    pub fn finish(mut self) -> Result<Segmented> {
        if !self.open.is_empty() {
            self.seal()?;
        }
        Ok(self.result)
    }

    /// Adds bytes of the open block to the extents of the current content.
    fn add_extent(&mut self, offset: u32, len: u32) {
        let block = BlockId(self.result.segments);
        let extents = &mut self.result.extents[self.first_extent..];
        if let Some(MapExtent::Data {
            block: last_block,
            len: last,
            ..
        }) = extents.last_mut()
            && *last_block == block
        {
            *last += len;
            return;
        }
        self.result
            .extents
            .push(MapExtent::Data { block, offset, len });
    }

    fn seal(&mut self) -> Result<()> {
        let sequence = self.result.number()?;
        let data = Arc::new(std::mem::take(&mut self.open));
        self.left = self.left.map(|left| left.saturating_sub(data.len() as u64));
        let mut segment = Segment::solid(sequence, Category::default(), data);
        segment.begins = std::mem::take(&mut self.begins);
        (self.emit)(segment)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn contents_follow_each_other() {
        let mut segments = Vec::new();
        let options = StreamOptions {
            block_size: 10,
            total: None,
        };
        let mut stream = ContentStream::new(options, |segment| {
            segments.push((segment.data, segment.begins));
            Ok(())
        })
        .unwrap();
        stream.data(b"abc").unwrap();
        stream.data(b"d").unwrap();
        stream.end();
        stream.end();
        stream.hole(2).unwrap();
        stream.data(b"efghijklmnop").unwrap();
        stream.hole(6).unwrap();
        stream.end();
        stream.data(b"q").unwrap();
        stream.end();
        let result = stream.finish().unwrap();
        let blocks: Vec<_> = segments
            .iter()
            .map(|(data, begins)| (&data[..], &begins[..]))
            .collect();
        assert_eq!(
            blocks,
            [
                (&b"abcd\0\0efgh"[..], &[0, 4][..]),
                (&b"ijklmnop\0\0"[..], &[][..]),
                (&b"\0\0\0\0q"[..], &[4][..]),
            ]
        );
        let sizes: Vec<u64> = result.lists.iter().map(|list| list.size).collect();
        assert_eq!(sizes, [4, 0, 20, 1]);
        let at = |block, offset, len| MapExtent::Data {
            block: BlockId(block),
            offset,
            len,
        };
        let expected = [
            at(0, 0, 4),
            at(0, 4, 6),
            at(1, 0, 10),
            at(2, 0, 4),
            at(2, 4, 1),
        ];
        assert_eq!(result.extents, expected);
    }

    /// Returns the lengths of blocks that contents of some lengths are cut into.
    fn blocks(lens: &[usize]) -> Vec<usize> {
        let mut blocks = Vec::new();
        let options = StreamOptions {
            block_size: 10,
            total: Some(lens.iter().sum::<usize>() as u64),
        };
        let mut stream = ContentStream::new(options, |segment| {
            blocks.push(segment.data.len());
            Ok(())
        })
        .unwrap();
        for &len in lens {
            stream.start(len as u64).unwrap();
            stream.data(&[7; 40][..len]).unwrap();
            stream.end();
        }
        stream.finish().unwrap();
        blocks
    }

    #[test]
    fn the_last_two_blocks_are_even_where_contents_allow_it() {
        assert_eq!(blocks(&[2, 2, 2, 2, 2]), [10]);
        assert_eq!(blocks(&[2; 7]), [6, 8]);
        assert_eq!(blocks(&[2; 17]), [10, 10, 6, 8]);
        assert_eq!(blocks(&[2; 10]), [10, 10]);
        // the content that reaches over the middle is on the side that has more of it
        assert_eq!(blocks(&[3, 1, 5, 3]), [4, 8]);
        assert_eq!(blocks(&[4, 5, 3]), [4, 8]);
        assert_eq!(blocks(&[1, 7, 4]), [8, 4]);
        // no content begins where a block may end
        assert_eq!(blocks(&[1, 14]), [10, 5]);
        assert_eq!(blocks(&[13, 1]), [10, 4]);
        assert_eq!(blocks(&[]), [0; 0]);
    }
}
