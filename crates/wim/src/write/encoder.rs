//! The encoder of content, shared by worker threads.
//!
//! In: segments. Out: blocks, and for the writer the bytes that each was made of.
//!
//! **Invariant:** a block depends on its segment and the options alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sinterfs_model::{Block, Error, Result, Segment, SegmentEncoder};
use sinterfs_workers::WorkerPermits;

use super::compression::{ChunkEncoder, WimCompression};

/// The bytes of segments whose blocks were not put yet, by number. The writer computes digests of
/// content from them, which takes them in order.
#[derive(Debug, Default)]
pub(super) struct RawBytes(Mutex<HashMap<u32, Arc<Vec<u8>>>>);

impl RawBytes {
    fn keep(&self, number: u32, bytes: Arc<Vec<u8>>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(number, bytes);
    }

    /// Takes the bytes of a segment.
    pub(super) fn take(&self, number: u32) -> Option<Arc<Vec<u8>>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&number)
    }
}

/// Encodes chunks of content.
#[derive(Debug)]
pub(super) struct WimEncoder {
    pub(super) compression: WimCompression,
    pub(super) chunk_size: u32,
    pub(super) raw: Arc<RawBytes>,
    /// Encoders that no thread uses.
    pub(super) idle: Mutex<Vec<ChunkEncoder>>,
}

impl SegmentEncoder for WimEncoder {
    fn encode(&self, segment: &Segment, _permits: &WorkerPermits) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        if raw.is_empty() || raw.len() > self.chunk_size as usize {
            return Err(Error::invalid(format!(
                "a segment of {} bytes for chunks of {}",
                raw.len(),
                self.chunk_size
            )));
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut encoder = idle().pop().unwrap_or_default();
        let encoded = encoder.encode(raw, self.compression, self.chunk_size);
        idle().push(encoder);
        self.raw.keep(segment.sequence, Arc::clone(&segment.data));
        Block::new(segment, encoded?)
    }

    fn memory(&self, len: u32) -> u64 {
        // matches: up to 12 of 8 bytes a position, rarely more than 4; ways of 28 bytes in blocks
        // of 64 KiB; tables; and the segment, which the writer needs
        u64::from(len) * 64 + (4 << 20)
    }

    fn window(&self) -> u64 {
        u64::from(self.chunk_size)
    }
}
