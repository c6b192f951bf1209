//! The encoder that worker threads share.
//!
//! In: units of content. Out: their blocks; beside these, in the sideband, what later units may
//! refer to, and the tails that share pclusters. **Invariant:** a block depends only on the unit,
//! the units that its repeats refer to, and the options.

use std::borrow::Cow;
use std::sync::Arc;

use sinterfs_block::checksum::{sha256, sha512_256};
use sinterfs_model::{Block, Category, Error, Result, Segment, SegmentEncoder};
use sinterfs_workers::WorkerPermits;

use super::compression::Compression;
use super::cut::{self, Cut, CutRule};
use super::dedupe;
use super::digest_index::Digest;
use super::encoded::{EncodedUnit, PclusterRef, flat_refs, piece};
use super::limits::{BLOCK, FILE_INLINE_MAX, is_short_tail};
use super::options::{Form, WriteOptions};
use super::packed_tails::{GROUP, SHARED_TAIL_MAX, padded};
use super::search::TailRule;
use super::sideband::BlockSideband;

/// Encodes units of content.
#[derive(Debug)]
pub(super) struct UnitEncoder {
    options: Arc<WriteOptions>,
    sideband: Arc<BlockSideband>,
}

impl UnitEncoder {
    /// Creates an encoder that fills a sideband.
    pub(super) fn new(options: &Arc<WriteOptions>, sideband: &Arc<BlockSideband>) -> Self {
        Self {
            options: Arc::clone(options),
            sideband: Arc::clone(sideband),
        }
    }

    fn in_blocks(&self) -> bool {
        self.options.form() == Form::Clusters
    }

    /// Returns the codec of a unit: none for what is known not to become smaller, unless others
    /// share its pclusters.
    fn compression(&self, segment: &Segment) -> Cow<'_, Compression> {
        let is_packed = segment.is_fragment() || self.options.packs_all();
        if segment.category == Category::Incompressible && !is_packed {
            Cow::Owned(Compression::none())
        } else {
            Cow::Borrowed(&self.options.compression)
        }
    }

    /// Returns what may become of the tail of a unit.
    fn tail_rule(&self, segment: &Segment) -> TailRule {
        if !segment.ends_content() {
            return TailRule::default();
        }
        let longest = self.options.block_size.max(SHARED_TAIL_MAX);
        let shared = self.sideband.tails.as_ref().map_or(0, |_| longest);
        TailRule {
            inline: self.options.inline_tails(),
            shared: shared as usize,
        }
    }

    /// Encodes a unit as one piece, unless that makes it no smaller.
    fn encode_whole(&self, segment: &Segment) -> Result<Block> {
        let raw: &[u8] = &segment.data;
        let encoded = self.compression(segment).encode(raw)?;
        let block = Block::new(segment, encoded.unwrap_or_else(|| raw.to_vec()))?;
        let is_chunk = raw.len() == self.options.unit() as usize;
        Ok(if is_chunk && self.options.own.chunk_size.is_some() {
            block.with_digests(vec![sha512_256(raw)])
        } else {
            block
        })
    }

    /// Cuts a unit into pclusters or extents, around what it repeats where that is referred to.
    fn cut(&self, segment: &Segment) -> Result<Block> {
        let unit = segment.sequence;
        let is_packed = segment.is_fragment() || self.options.packs_all();
        let in_blocks = self.in_blocks();
        let padded = (in_blocks && is_packed).then(|| padded(segment.data.to_vec()));
        let raw = padded.as_deref().unwrap_or(&segment.data);
        let rule = CutRule {
            most: self.options.block_size as usize,
            in_blocks,
            zeros_behind: self.options.own.extended.legacy_compress,
            tail: if is_packed {
                TailRule::default()
            } else {
                self.tail_rule(segment)
            },
        };
        let compression = self.compression(segment);
        let compression = &*compression;
        let may_be_flat = in_blocks && !is_packed;
        if may_be_flat && compression.is_none() {
            return self.finish(segment, flat(segment));
        }
        let mut cut = match &self.sideband.encoded {
            None => cut::cut(compression, rule, (unit, raw))?,
            Some(units) => {
                let find = |unit| units.wait(unit);
                dedupe::cut(compression, rule, (unit, raw), segment.repeats(), find)?
            }
        };
        if may_be_flat && !gains(&cut, unit, raw.len()) {
            cut = flat(segment);
        }
        self.finish(segment, cut)
    }

    /// Makes the block of a unit that was cut, and fills the sideband.
    fn finish(&self, segment: &Segment, cut: Cut) -> Result<Block> {
        let unit = segment.sequence;
        let is_whole = segment.is_fragment() || cut.is_flat;
        let pieces = if cut.is_flat || self.sideband.encoded.is_some() {
            Vec::new()
        } else {
            cut.pieces()
        };
        let encoded = EncodedUnit {
            refs: cut.refs.into(),
            is_flat: cut.is_flat,
            inline: cut.inline,
        };
        let digests = if self.options.shares_clusters() && !is_whole {
            let digest = |pcluster| digest_of(&cut.bytes, pcluster);
            encoded.own_pclusters(unit).map(digest).collect()
        } else {
            Vec::new()
        };
        if let Some(units) = &self.sideband.encoded {
            units.insert(unit, encoded);
        }
        if let Some(tails) = &self.sideband.tails {
            let from = segment.data.len().saturating_sub(cut.shared_tail);
            tails.add(unit, segment.data.get(from..).unwrap_or_default())?;
        }
        let block = Block::new(segment, cut.bytes)?;
        Ok(block.with_parts(pieces).with_digests(digests))
    }
}

/// Returns whether what a unit was cut into takes less than the unit as it is, which has an inline
/// tail if its end is short.
fn gains(cut: &Cut, unit: u32, raw: usize) -> bool {
    let refers = cut
        .refs
        .iter()
        .any(|one| one.unit != unit || one.is_partial());
    if refers || cut.inline.is_some() {
        return true;
    }
    let (stored, end) = (cut.bytes.len(), raw % BLOCK as usize);
    match cut.shared_tail {
        0 => stored < raw.next_multiple_of(BLOCK as usize),
        tail => stored + tail < raw || end as u64 > FILE_INLINE_MAX,
    }
}

/// Leaves a unit as it is; its end may become an inline tail if it is short.
fn flat(segment: &Segment) -> Cut {
    let raw = segment.data.len();
    let end = raw % BLOCK as usize;
    let is_short = segment.ends_content() && is_short_tail(end);
    let whole = raw - if is_short { end } else { 0 };
    Cut {
        refs: flat_refs(segment.sequence, whole).to_vec(),
        bytes: segment.data.to_vec(),
        inline: is_short.then(|| piece(end, end)),
        shared_tail: 0,
        is_flat: true,
    }
}

/// Makes the digest of a pcluster. The length of its content counts, too: the same bytes may be
/// compressed or not.
fn digest_of(bytes: &[u8], pcluster: &PclusterRef) -> Digest {
    let stored = bytes.get(pcluster.at as usize..).unwrap_or_default();
    let stored = stored.get(..pcluster.stored as usize).unwrap_or(stored);
    sha256(&[stored, &pcluster.whole.to_le_bytes()].concat())
}

impl SegmentEncoder for UnitEncoder {
    fn encode(&self, segment: &Segment, _permits: &WorkerPermits) -> Result<Block> {
        let (len, unit) = (segment.data.len(), self.options.unit());
        if len == 0 || len > unit as usize {
            return Err(Error::invalid(format!(
                "a segment of {len} bytes for units of {unit}"
            )));
        }
        if self.in_blocks() || self.sideband.encoded.is_some() {
            self.cut(segment)
        } else {
            self.encode_whole(segment)
        }
    }

    fn memory(&self, len: u32) -> u64 {
        // trials of a pcluster are kept while others are made
        let trials = if self.in_blocks() {
            4 * u64::from(len)
        } else {
            0
        };
        let encoded = &self.sideband.encoded;
        let refs = encoded.as_ref().map_or(0, |_| u64::from(len));
        let tails = &self.sideband.tails;
        let group = tails.as_ref().map_or(0, |_| 4 * GROUP as u64);
        self.options.compression.memory(len) + trials + refs + group
    }

    fn window(&self) -> u64 {
        let size = u64::from(self.options.block_size);
        match &self.sideband.encoded {
            _ if self.options.compression.is_none() => 0,
            None => u64::from(self.options.unit()),
            // about the content of a pcluster, which is all that the codec sees
            Some(_) if self.in_blocks() => 2 * size,
            Some(_) => size,
        }
    }

    fn abandon(&self) {
        if let Some(units) = &self.sideband.encoded {
            units.fail();
        }
    }
}
