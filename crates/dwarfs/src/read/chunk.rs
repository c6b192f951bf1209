//! Chunks: ranges of blocks, and holes.
//!
//! In: the columns of `chunks`. Out: what a chunk refers to.
//!
//! **Invariant:** decodes any numbers; whether they fit the blocks is checked by `validate`.
//! Spec: `docs/formats/dwarfs.md`, "Metadata".

use super::metadata::Metadata;
use crate::layout::metadata::chunk::OFFSET_IS_LARGE_HOLE;

/// A decoded chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// Bytes of a block.
    Data { block: u32, offset: u64, len: u64 },
    /// Zeros.
    Hole { len: u64 },
}

impl Chunk {
    pub(crate) fn len(&self) -> u64 {
        match *self {
            Self::Data { len, .. } | Self::Hole { len } => len,
        }
    }
}

impl Metadata {
    /// Returns the number of chunks of all files.
    pub(crate) fn chunk_count(&self) -> u64 {
        self.chunks.block.len()
    }

    /// Decodes a chunk.
    #[inline]
    pub(crate) fn chunk(&self, index: u64) -> Chunk {
        let data: &[u8] = &self.data;
        let chunks = &self.chunks;
        let block = chunks.block.get_u32(data, index);
        let offset = chunks.offset.get(data, index);
        let size = chunks.size.get(data, index);
        if chunks.hole_block != Some(block) {
            return Chunk::Data {
                block,
                offset,
                len: size,
            };
        }
        if offset == u64::from(OFFSET_IS_LARGE_HOLE) {
            return Chunk::Hole {
                len: chunks.large_holes.get(data, size),
            };
        }
        // 30 bits by 32 bits, and 32 bits
        Chunk::Hole {
            len: size.saturating_mul(self.block_size).saturating_add(offset),
        }
    }

    /// Returns whether a chunk is a hole whose length is missing from `large_hole_size`.
    pub(crate) fn lacks_hole_size(&self, index: u64) -> bool {
        let data: &[u8] = &self.data;
        self.chunks.hole_block == Some(self.chunks.block.get_u32(data, index))
            && self.chunks.offset.get(data, index) == u64::from(OFFSET_IS_LARGE_HOLE)
            && self.chunks.size.get(data, index) >= self.chunks.large_holes.len()
    }
}
