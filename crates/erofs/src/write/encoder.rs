//! The encoder that worker threads share.

use std::sync::Arc;

use sinterfs_block::checksum::{sha256, sha512_256};
use sinterfs_model::{Block, Error, Result, Segment, SegmentEncoder};
use sinterfs_workers::WorkerPermits;

use super::compression::Compression;
use super::cut::{self, Shape};
use super::encoded::{Cluster, Encoded, Part, Parts, clusters};
use super::packed_tails::{GROUP, REST_MAX, Rests, filled};
use super::search::Leaves;
use super::{BLOCK, END_MAX, search};

/// Encodes units of content.
#[derive(Debug)]
pub(super) struct UnitEncoder {
    pub(super) compression: Compression,
    /// The most bytes of a unit.
    pub(super) unit: u32,
    /// Whether whole units get digests.
    pub(super) digests: bool,
    /// Whether clusters do.
    pub(super) shares_clusters: bool,
    /// The most bytes of a cluster, or of content of an extent.
    pub(super) size: u32,
    /// Whether units are cut into clusters of whole blocks.
    pub(super) in_blocks: bool,
    /// Whether the last cluster of a file goes behind its inode where it can.
    pub(super) inline_ends: bool,
    /// What units became, where repeats are referred to.
    pub(super) parts: Option<Arc<Parts>>,
    /// What is left of files, where that is shared.
    pub(super) rests: Option<Arc<Rests>>,
    /// Whether the packed inode has all content.
    pub(super) all_packed: bool,
}

impl UnitEncoder {
    /// Returns whether a unit is of the packed inode.
    fn is_packed(&self, segment: &Segment) -> bool {
        segment.fragment || self.all_packed
    }

    /// Returns what a unit may leave.
    fn leaves(&self, segment: &Segment) -> Leaves {
        let (ends, shares) = (segment.ends, self.rests.is_some());
        Leaves {
            inline: ends && self.inline_ends,
            rest: if ends && shares {
                self.size.max(REST_MAX) as usize
            } else {
                0
            },
        }
    }

    /// Says what a unit leaves, its last bytes.
    fn leave(&self, segment: &Segment, len: usize) -> Result<()> {
        match &self.rests {
            Some(rests) => {
                let from = segment.data.len().saturating_sub(len);
                rests.give(
                    segment.sequence,
                    segment.data.get(from..).unwrap_or_default(),
                )
            }
            None => Ok(()),
        }
    }

    /// Cuts a unit into clusters, unless storing it as it is takes no more.
    fn cut(&self, segment: &Segment) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        let most = self.size as usize;
        if self.is_packed(segment) {
            self.leave(segment, 0)?;
            let raw = filled(raw.to_vec());
            let cut = search::cut(&self.compression, &raw, most, Leaves::default())?;
            return Ok(Block::new(segment, cut.bytes)?.of_pieces(cut.pieces));
        }
        let cut = search::cut(&self.compression, raw, most, self.leaves(segment))?;
        if gains(raw.len(), cut.bytes.len(), cut.left) {
            self.leave(segment, cut.left)?;
            let digests = self.digests_of(&cut.bytes, clusters(&cut.pieces));
            let block = Block::new(segment, cut.bytes)?;
            return Ok(block.of_pieces(cut.pieces).with_digests(digests));
        }
        self.leave(segment, 0)?;
        Block::new(segment, raw.to_vec())
    }

    /// Makes the digests of clusters, if these are shared.
    fn digests_of(&self, bytes: &[u8], clusters: impl Iterator<Item = Cluster>) -> Vec<[u8; 32]> {
        let digest = |cluster: Cluster| {
            let from = bytes.get(cluster.at as usize..).unwrap_or_default();
            let mut digest = sha256(from.get(..cluster.stored as usize).unwrap_or(from));
            // the same bytes may be encoded or not
            for (byte, raw) in digest.iter_mut().zip(cluster.raw.to_le_bytes()) {
                *byte ^= raw;
            }
            digest
        };
        match self.shares_clusters {
            true => clusters.map(digest).collect(),
            false => Vec::new(),
        }
    }

    /// Cuts a unit around what it repeats, and tells all what it became.
    fn cut_around(&self, segment: &Segment, known: &Parts) -> Result<Block> {
        let mut raw: &[u8] = &segment.data;
        let unit = segment.sequence;
        let is_packed = self.is_packed(segment);
        let shape = Shape {
            most: self.size as usize,
            in_blocks: self.in_blocks,
            leaves: match is_packed {
                true => Leaves::default(),
                false => self.leaves(segment),
            },
        };
        let to_fill = filled(if is_packed { raw.to_vec() } else { Vec::new() });
        if self.in_blocks && is_packed {
            raw = &to_fill;
        }
        let find = |unit| known.wait(unit);
        let mut cut = cut::cut(
            &self.compression,
            shape,
            (unit, raw),
            &segment.repeats,
            find,
        )?;
        let is_own = |part: &Part| part.unit == unit && !part.is_partial();
        let is_flat = self.in_blocks
            && !is_packed
            && !gains(raw.len(), cut.bytes.len(), cut.left)
            && cut.inline.is_none()
            && cut.parts.iter().all(is_own);
        let mut inline = cut.inline.map(|(raw, stream)| {
            cut.bytes.extend_from_slice(&stream);
            search::piece(raw, stream.len())
        });
        if is_flat {
            let end = raw.len() % BLOCK as usize;
            let is_short = segment.ends && (1..=END_MAX).contains(&(end as u64));
            let whole = raw.len() - if is_short { end } else { 0 };
            inline = is_short.then(|| search::piece(end, end));
            cut.bytes = raw.to_vec();
            cut.parts = flat(unit, whole as u32);
            cut.left = 0;
        }
        let encoded = Encoded {
            parts: cut.parts.into(),
            is_flat,
            inline,
        };
        let digests = match is_flat || is_packed || !self.in_blocks {
            true => Vec::new(),
            false => self.digests_of(&cut.bytes, encoded.clusters(unit)),
        };
        known.tell(unit, encoded);
        self.leave(segment, cut.left)?;
        Ok(Block::new(segment, cut.bytes)?.with_digests(digests))
    }
}

/// Returns whether clusters and what they leave are less than all as it is, whose end is behind the inode if it is
/// short.
fn gains(raw: usize, stored: usize, left: usize) -> bool {
    let whole = raw.next_multiple_of(BLOCK as usize);
    let end = raw % BLOCK as usize;
    match left {
        0 => stored < whole,
        _ => stored + left < raw || end as u64 > END_MAX,
    }
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
    fn encode(&self, segment: &Segment, _permits: &WorkerPermits) -> Result<Block> {
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
            true => block.with_digests(vec![sha512_256(raw)]),
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
        let group = self.rests.as_ref().map_or(0, |_| 4 * GROUP as u64);
        self.compression.memory(len) + trials + parts + group
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
