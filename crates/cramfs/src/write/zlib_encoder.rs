//! The encoder of content, shared by worker threads.
//!
//! In: segments. Out: blocks. **Invariant:** a block depends only on its segment and the options.

use sinterfs_model::{Block, Error, Result, Segment, SegmentEncoder};
use sinterfs_workers::WorkerPermits;

use super::compression::ZlibCompression;

/// Encodes blocks of content.
#[derive(Debug)]
pub(super) struct ZlibEncoder {
    pub(super) compression: ZlibCompression,
    pub(super) block_size: u32,
}

impl SegmentEncoder for ZlibEncoder {
    fn encode(&self, segment: &Segment, _permits: &WorkerPermits) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        if raw.is_empty() || raw.len() > self.block_size as usize {
            return Err(Error::invalid(format!(
                "a segment of {} bytes for blocks of {}",
                raw.len(),
                self.block_size
            )));
        }
        Block::new(segment, self.compression.encode(raw)?)
    }

    fn memory(&self, len: u32) -> u64 {
        u64::from(len)
    }

    fn window(&self) -> u64 {
        u64::from(self.block_size)
    }
}
