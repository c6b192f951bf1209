//! Maps of chunks: ranges of one size, each anywhere in the image or a hole.
//!
//! In: the stored ranges of a file. Out: what follows its inode. **Invariant:** chunks are as long
//! as they can be, so that the map is as short as possible. Format: `docs/formats/erofs.md`,
//! "Chunks".

use sinterfs_model::{Error, Result, Setting};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::limits::BlockSize;
use crate::layout::{ChunkIndex, chunk};

/// The longest chunk as a power of two: kernels count in machine words.
const BITS_MAX: u32 = 30;

/// The most chunks of a file, a bound on memory.
const CHUNKS_MAX: u64 = 64 << 20;

/// The address of a hole.
const HOLE: u32 = u32::MAX;

/// The number of the device for content.
const DEVICE: u16 = 1;

/// The chunks of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkMap {
    /// The size of chunks as a power of two, in bytes.
    bits: u32,
    /// The first block of each chunk.
    blocks: Vec<u32>,
    /// Whether content is on a further device.
    on_device: bool,
    block: BlockSize,
}

/// The ranges of a file, one after the other; adjacent ones are merged.
#[derive(Debug, Default)]
pub(super) struct ChunkPieces {
    /// Whether content is on a further device.
    on_device: bool,
    size: u64,
    block: BlockSize,
    /// The start of each range in the file and in the image; `None` for a hole.
    found: Vec<(u64, Option<u64>)>,
}

impl ChunkPieces {
    /// Starts an empty file; `on_device` is whether content is on a further device.
    pub(super) fn new(on_device: bool) -> Self {
        Self {
            on_device,
            ..Self::default()
        }
    }

    /// Counts addresses in blocks of another size.
    pub(super) fn in_blocks(self, block: BlockSize) -> Self {
        Self { block, ..self }
    }

    /// Adds a range of the given length that is stored at an offset, or a hole.
    pub(super) fn push(&mut self, len: u64, start: Option<u64>) {
        let goes_on = self.found.last().is_some_and(|&(from, place)| {
            let next = place.map(|place| place.saturating_add(self.size - from));
            next == start
        });
        if !goes_on {
            self.found.push((self.size, start));
        }
        self.size = self.size.saturating_add(len);
    }

    /// Cuts the file into chunks.
    ///
    /// # Errors
    ///
    /// `Limit` for too many chunks, and for blocks beyond 16 TiB.
    pub(super) fn chunks(&self) -> Result<ChunkMap> {
        let ends = self.found.iter().skip(1).map(|&(from, _)| from);
        let most = ends.map(u64::trailing_zeros).min().unwrap_or(u32::MAX);
        let whole = self.size.checked_next_power_of_two();
        let whole = whole.map_or(BITS_MAX, u64::trailing_zeros);
        let bits = most
            .min(whole)
            .clamp(u32::from(self.block.bits()), BITS_MAX);
        let count = self.size.div_ceil(1 << bits);
        if count > CHUNKS_MAX {
            let options = [
                Setting("chunk_size"),
                Setting("block_size"),
                Setting("target_kernel"),
            ];
            let [chunk, block, kernel] = options;
            let what = format!(
                "a file of {} bytes needs {count} chunks of {} bytes; choose longer chunks \
                 ({chunk}, {block}), or extents ({kernel} 6.15)",
                self.size,
                1_u64 << bits
            );
            return Err(Error::limit(what).about(options));
        }
        let mut blocks = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        let mut pieces = self.found.iter().peekable();
        let mut piece = (0, None);
        for number in 0..count {
            let at = number << bits;
            while let Some(&next) = pieces.next_if(|next| next.0 <= at) {
                piece = next;
            }
            let (from, place) = piece;
            blocks.push(match place {
                Some(place) => address((place + (at - from)) / self.block.bytes())?,
                None => HOLE,
            });
        }
        Ok(ChunkMap {
            bits,
            blocks,
            on_device: self.on_device,
            block: self.block,
        })
    }
}

fn address(block: u64) -> Result<u32> {
    let address = u32::try_from(block).ok().filter(|&block| block != HOLE);
    address.ok_or_else(|| Error::limit("an image of 16 TiB or more"))
}

impl ChunkMap {
    /// Returns the chunk format for the inode.
    pub(super) fn format(&self) -> u64 {
        let indexes = if self.on_device { chunk::INDEXES } else { 0 };
        u64::from((self.bits - u32::from(self.block.bits())) as u16 & chunk::BITS_MASK | indexes)
    }

    /// Appends the map to an inode that ends at a multiple of 4.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        if !self.on_device {
            to.extend(self.blocks.iter().flat_map(|block| block.to_le_bytes()));
            return;
        }
        to.resize(to.len().next_multiple_of(size_of::<ChunkIndex>()), 0);
        for &block in &self.blocks {
            let (start_high, device) = if block == HOLE {
                (u16::MAX, 0)
            } else {
                (0, DEVICE)
            };
            let index = ChunkIndex {
                start_high: U16::new(start_high),
                device: U16::new(device),
                start: U32::new(block),
            };
            to.extend_from_slice(index.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::BLOCK;

    fn chunks(pieces: &[(u64, Option<u64>)]) -> (u32, Vec<u32>) {
        let mut all = ChunkPieces::default();
        for &(len, start) in pieces {
            all.push(len, start.map(|block: u64| block * BLOCK));
        }
        let chunks = all.chunks().unwrap();
        (chunks.bits, chunks.blocks)
    }

    #[test]
    fn chunks_are_as_long_as_they_can_be() {
        const KIB: u64 = 1 << 10;
        assert_eq!(chunks(&[(5 << 40, None)]), (30, vec![HOLE; 5 << 10]));
        assert_eq!(chunks(&[(5000, None)]), (13, vec![HOLE]));
        assert_eq!(chunks(&[(1, None)]), (12, vec![HOLE]));
        // adjacent ranges are merged
        let row = [(64 * KIB, Some(7)), (64 * KIB, Some(23)), (5, Some(39))];
        assert_eq!(chunks(&row), (18, vec![7]));
        let holes = [
            (128 * KIB, None),
            (64 * KIB, Some(3)),
            (64 * KIB, Some(19)),
            (256 * KIB, None),
            (70_000, Some(100)),
        ];
        assert_eq!(chunks(&holes), (17, vec![HOLE, 3, HOLE, HOLE, 100]));
        let short = [(4 * KIB, Some(9)), (8 * KIB, Some(3)), (1, None)];
        assert_eq!(chunks(&short), (12, vec![9, 3, 4, HOLE]));
    }

    #[test]
    fn refuses_files_that_do_not_fit() {
        let mut pieces = ChunkPieces::default();
        pieces.push(4096, Some(4096));
        pieces.push(1 << 40, None);
        assert_eq!(
            pieces.chunks().unwrap_err().kind(),
            sinterfs_model::Kind::Limit
        );
        let mut pieces = ChunkPieces::default();
        pieces.push(4096, Some(u64::from(u32::MAX) * BLOCK));
        assert_eq!(
            pieces.chunks().unwrap_err().kind(),
            sinterfs_model::Kind::Limit
        );
    }
}
