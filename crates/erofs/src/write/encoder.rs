//! The encoder that worker threads share.

use std::sync::Arc;

use block::checksum::sha512_256;
use model::{Block, Error, Result, Segment, SegmentEncoder, Spare};

use super::around::{self, Shape};
use super::compression::Compression;
use super::parts::{Encoded, Part, Parts};
use super::{BLOCK, fit};

/// What the units of the packed inode are filled up to multiples of. They are not next to each other in
/// the image, and the blocks of a pack of indexes, which is of two blocks at least, have to be.
const PACK: usize = 2 * BLOCK as usize;

/// Encodes units of content.
#[derive(Debug)]
pub(super) struct UnitEncoder {
    pub(super) compression: Compression,
    /// The most bytes of a unit.
    pub(super) unit: u32,
    /// Whether whole units get digests.
    pub(super) digests: bool,
    /// The most bytes of a cluster, or of content of an extent.
    pub(super) size: u32,
    /// Whether units are cut into clusters of whole blocks.
    pub(super) in_blocks: bool,
    /// Whether the last cluster of a file goes behind its inode where it can.
    pub(super) inline_ends: bool,
    /// What units became, where repeats are referred to.
    pub(super) parts: Option<Arc<Parts>>,
}

impl UnitEncoder {
    /// Cuts a unit into clusters, unless storing it as it is takes no more.
    fn cut(&self, segment: &Segment) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        let most = self.size as usize;
        if !segment.fragment {
            // what is shorter than a unit is a file's end, if it is not whole blocks before a fragment
            let is_end =
                raw.len() < self.unit as usize && !raw.len().is_multiple_of(BLOCK as usize);
            let ends = self.inline_ends && is_end;
            let cut = fit::cut(&self.compression, raw, most, ends)?;
            let gains = cut.bytes.len() < raw.len().next_multiple_of(BLOCK as usize);
            return match gains {
                true => Ok(Block::new(segment, cut.bytes)?.of_pieces(cut.pieces)),
                false => Block::new(segment, raw.to_vec()),
            };
        }
        let cut = fit::cut(&self.compression, &filled(raw), most, false)?;
        Ok(Block::new(segment, cut.bytes)?.of_pieces(cut.pieces))
    }

    /// Cuts a unit around what it repeats, and tells all what it became.
    fn cut_around(&self, segment: &Segment, known: &Parts) -> Result<Block> {
        let mut raw: &[u8] = &segment.data;
        let unit = segment.sequence;
        let shape = Shape {
            most: self.size as usize,
            in_blocks: self.in_blocks,
        };
        let to_fill = filled(if segment.fragment { raw } else { &[] });
        if self.in_blocks && segment.fragment {
            raw = &to_fill;
        }
        let find = |unit| known.wait(unit);
        let cut = around::cut(
            &self.compression,
            shape,
            (unit, raw),
            &segment.repeats,
            find,
        )?;
        let (mut parts, mut bytes) = cut;
        let is_own = |part: &Part| part.unit == unit && !part.is_partial();
        let gains = bytes.len() < raw.len().next_multiple_of(BLOCK as usize);
        let is_flat = self.in_blocks && !segment.fragment && !gains && parts.iter().all(is_own);
        if is_flat {
            bytes = raw.to_vec();
            parts = flat(unit, raw.len() as u32);
        }
        let parts = parts.into();
        known.tell(unit, Encoded { parts, is_flat });
        Block::new(segment, bytes)
    }
}

/// Fills content of the packed inode up to whole packs of indexes.
fn filled(raw: &[u8]) -> Vec<u8> {
    let mut filled = raw.to_vec();
    filled.resize(raw.len().next_multiple_of(PACK), 0);
    filled
}

/// Lists the blocks of a unit that is stored as it is.
fn flat(unit: u32, len: u32) -> Vec<Part> {
    let starts = (0..len).step_by(BLOCK as usize);
    let part = |start: u32| {
        let raw = (len - start).min(BLOCK as u32);
        Part {
            start,
            raw,
            whole: raw,
            stored: BLOCK as u32,
            unit,
            at: start,
        }
    };
    starts.map(part).collect()
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
        if let Some(parts) = &self.parts {
            return self.cut_around(segment, parts);
        }
        if self.in_blocks {
            return self.cut(segment);
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
        let trials = if self.in_blocks {
            4 * u64::from(len)
        } else {
            0
        };
        let parts = self.parts.as_ref().map_or(0, |_| u64::from(len));
        self.compression.memory(len) + trials + parts
    }

    fn window(&self) -> u64 {
        match (&self.compression, &self.parts) {
            (Compression::None, _) => 0,
            (_, None) => u64::from(self.unit),
            // what a cluster holds, about, which is all that is seen
            (_, Some(_)) if self.in_blocks => 2 * u64::from(self.size),
            (_, Some(_)) => u64::from(self.size),
        }
    }

    fn abandon(&self) {
        if let Some(parts) = &self.parts {
            parts.fail();
        }
    }
}
