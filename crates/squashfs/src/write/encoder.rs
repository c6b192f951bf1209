//! The encoder of content, shared by worker threads.
//!
//! In: segments. Out: blocks. **Invariant:** a block depends only on its segment and the options.

use sinterfs_model::{Block, Category, Error, Result, Segment, SegmentEncoder};
use sinterfs_workers::WorkerPermits;

use super::compression::Compression;

/// Encodes blocks of content.
#[derive(Debug)]
pub(super) struct BlockEncoder {
    pub(super) compression: Compression,
    pub(super) block_size: u32,
    /// Whether blocks of single files are stored uncompressed.
    pub(super) raw_data: bool,
    /// Whether fragment blocks are stored uncompressed.
    pub(super) raw_fragments: bool,
}

impl SegmentEncoder for BlockEncoder {
    fn encode(&self, segment: &Segment, _permits: &WorkerPermits) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        if raw.is_empty() || raw.len() > self.block_size as usize {
            return Err(Error::invalid(format!(
                "a segment of {} bytes for blocks of {}",
                raw.len(),
                self.block_size
            )));
        }
        let uncompressed = if segment.is_fragment() {
            self.raw_fragments
        } else {
            self.raw_data
        };
        let encoded = if uncompressed || segment.category == Category::Incompressible {
            None
        } else {
            self.compression.encode(raw, self.block_size)?
        };
        Block::new(segment, encoded.unwrap_or_else(|| raw.to_vec()))
    }

    fn memory(&self, len: u32) -> u64 {
        self.compression.memory(len)
    }

    fn window(&self) -> u64 {
        u64::from(self.block_size)
    }
}
