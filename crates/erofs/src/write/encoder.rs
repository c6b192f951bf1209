//! The encoder that worker threads share.

use block::checksum::sha512_256;
use model::{Block, Error, Result, Segment, SegmentEncoder, Spare};

use super::compression::Compression;
use super::{BLOCK, fit};

/// What the units of the packed inode are filled up to multiples of. They are not next to each other in
/// the image, and the blocks of a pack of indexes, which is of two blocks at least, have to be.
const PACK: usize = 2 * BLOCK as usize;

/// Encodes units of content.
#[derive(Debug)]
pub(super) struct UnitEncoder {
    pub(super) compression: Compression,
    pub(super) unit: u32,
    /// The most bytes of a cluster, where units are cut into such.
    pub(super) cluster: Option<u32>,
    /// Whether whole units get digests.
    pub(super) digests: bool,
}

impl UnitEncoder {
    /// Cuts a unit into clusters, unless storing it as it is takes no more.
    fn cut(&self, segment: &Segment, cluster: u32) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        if !segment.fragment {
            let cut = fit::cut(&self.compression, raw, cluster as usize)?;
            let gains = cut.bytes.len() < raw.len().next_multiple_of(BLOCK as usize);
            return match gains {
                true => Ok(Block::new(segment, cut.bytes)?.of_pieces(cut.pieces)),
                false => Block::new(segment, raw.to_vec()),
            };
        }
        let mut filled = raw.to_vec();
        filled.resize(raw.len().next_multiple_of(PACK), 0);
        let cut = fit::cut(&self.compression, &filled, cluster as usize)?;
        Ok(Block::new(segment, cut.bytes)?.of_pieces(cut.pieces))
    }
}

impl SegmentEncoder for UnitEncoder {
    fn encode(&self, segment: &Segment, _spare: &Spare) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        if raw.is_empty() || raw.len() > self.unit as usize {
            return Err(Error::invalid(format!(
                "a segment of {} bytes for units of {}",
                raw.len(),
                self.unit
            )));
        }
        if let Some(cluster) = self.cluster {
            return self.cut(segment, cluster);
        }
        let encoded = self.compression.encode(raw)?;
        let block = Block::new(segment, encoded.unwrap_or_else(|| raw.to_vec()))?;
        Ok(match self.digests && raw.len() == self.unit as usize {
            true => block.with_digest(sha512_256(raw)),
            false => block,
        })
    }

    fn memory(&self, len: u32) -> u64 {
        // trials of a cluster are kept while others are made
        let trials = self.cluster.map_or(0, |_| 4 * u64::from(len));
        self.compression.memory(len) + trials
    }

    fn window(&self) -> u64 {
        match self.compression {
            Compression::None => 0,
            _ => u64::from(self.unit),
        }
    }
}
