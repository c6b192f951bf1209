//! The encoder of content, shared by worker threads.
//!
//! In: segments. Out: blocks, and for the writer the bytes that each was made of.
//!
//! **Invariant:** a block depends only on its segment and the options.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sinterfs_model::{Block, Error, Result, Segment, SegmentEncoder};
use sinterfs_workers::WorkerPermits;

use super::compression::{ChunkEncoder, WimCompression};

/// The origin of a block.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) bytes: Arc<Vec<u8>>,
    /// The positions of its contents, if it holds several.
    pub(super) begins: Vec<u32>,
}

/// The bytes of segments whose blocks were not put yet, by number. The writer computes digests of
/// content from them, which takes them in order.
#[derive(Debug, Default)]
pub(super) struct RawBytes(Mutex<HashMap<u32, Raw>>);

impl RawBytes {
    fn keep(&self, number: u32, raw: Raw) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(number, raw);
    }

    /// Takes the bytes of a segment.
    pub(super) fn take(&self, number: u32) -> Option<Raw> {
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
    fn encode(&self, segment: &Segment, permits: &WorkerPermits) -> Result<Block> {
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
        let encoded = encoder.encode(raw, self.compression, self.chunk_size, permits);
        idle().push(encoder);
        let raw = Raw {
            bytes: Arc::clone(&segment.data),
            begins: segment.begins.clone(),
        };
        self.raw.keep(segment.sequence, raw);
        Block::new(segment, encoded?)
    }

    fn memory(&self, len: u32) -> u64 {
        self.compression.memory(len)
    }

    fn window(&self) -> u64 {
        u64::from(self.chunk_size)
    }
}
