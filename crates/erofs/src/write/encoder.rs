//! The encoder that worker threads share.

use model::{Block, Error, Result, Segment, SegmentEncoder};

use super::compression::Compression;

/// Encodes units of content.
#[derive(Debug)]
pub(super) struct UnitEncoder {
    pub(super) compression: Compression,
    pub(super) unit: u32,
}

impl SegmentEncoder for UnitEncoder {
    fn encode(&self, segment: &Segment) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        if raw.is_empty() || raw.len() > self.unit as usize {
            return Err(Error::invalid(format!(
                "a segment of {} bytes for units of {}",
                raw.len(),
                self.unit
            )));
        }
        let encoded = self.compression.encode(raw)?;
        Block::new(segment, encoded.unwrap_or_else(|| raw.to_vec()))
    }

    fn memory(&self, len: u32) -> u64 {
        self.compression.memory(len)
    }

    fn window(&self) -> u64 {
        match self.compression {
            Compression::None => 0,
            _ => u64::from(self.unit),
        }
    }
}
