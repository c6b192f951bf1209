//! The writer's tables of content: the positions of units, their parts, and their tails.
//!
//! In: blocks in sequence. Out: for each block how much of it is written now; later, what any unit
//! is decoded from. **Invariant:** a unit is taken once and as a whole; each table has one owner
//! and one way in.

use std::sync::Arc;

use sinterfs_model::{Block, Error, Result, StoredPart, TailPlacement};

use super::encoded::{EncodedUnit, PclusterRef, flat_refs, piece, refs_in_row};
use super::inline_tails::InlineTails;
use super::limits::{BLOCK, is_short_tail};
use super::options::{Form, WriteOptions};
use super::packed_inode::PackedInode;
use super::packed_tails::SharedTail;
use super::sideband::BlockSideband;
use super::slice_table::SliceTable;
use super::unit_table::{UnitTable, map_violates_geometry};

/// The way in which the stored bytes of a block are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredBytes {
    /// The first bytes, which are written as they are.
    pub(super) now: usize,
    /// If above 0: this number of zeros, and then the rest. If 0, the rest was kept.
    pub(super) gap: u64,
}

/// All that is known of content.
#[derive(Debug)]
pub(super) struct ContentTables {
    pub(super) options: Arc<WriteOptions>,
    pub(super) sideband: Arc<BlockSideband>,
    pub(super) units: UnitTable,
    /// The pieces of units that refer to no others; none of those stored as a whole.
    pieces: SliceTable<StoredPart>,
    pub(super) inline_tails: InlineTails,
    pub(super) packed: PackedInode,
}

impl ContentTables {
    /// Creates empty tables.
    pub(super) fn new(options: &Arc<WriteOptions>) -> Self {
        Self {
            options: Arc::clone(options),
            sideband: BlockSideband::new(options),
            units: UnitTable::default(),
            pieces: SliceTable::default(),
            inline_tails: InlineTails::default(),
            packed: PackedInode::default(),
        }
    }

    /// Takes the next block, and keeps its tail for the inode if that is one and `may_keep_tail`.
    ///
    /// # Errors
    /// `Invalid` for a block out of sequence, or one that its pieces or references do not cover.
    pub(super) fn take(&mut self, block: &Block, may_keep_tail: bool) -> Result<StoredBytes> {
        let (unit, expected) = (block.sequence, self.units.len());
        if unit as usize != expected {
            return Err(Error::invalid(format!(
                "block {unit} was put where {expected} is next"
            )));
        }
        let stored = block.bytes.len();
        let encoded = self.encoded(block)?;
        let shared = self.shared_tail(unit).map_or(0, |tail| tail.len);
        if block.decoded_len > self.options.unit() || !covers(block, encoded.as_ref(), shared) {
            return Err(Error::invalid(format!(
                "block {unit}: {stored} bytes for {}, in an image with units of {}",
                block.decoded_len,
                self.options.unit()
            )));
        }
        self.pieces.push(unit, block.parts())?;
        let is_flat = encoded.as_ref().is_none_or(|encoded| encoded.is_flat);
        let tail = match encoded {
            Some(encoded) => encoded.inline.map_or(0, |tail| tail.stored_len as usize),
            None if self.has_flat_tails() => {
                stored % self.options.own.extended.block.bytes() as usize
            }
            None => 0,
        };
        let now = stored.saturating_sub(tail);
        let bytes = block.bytes.get(now..).unwrap_or_default();
        let is_inline = !(is_flat && self.options.own.extended.no_inline_data);
        let may_keep_tail = may_keep_tail && is_inline && self.is_short_tail(tail);
        let is_kept = may_keep_tail && self.inline_tails.push(unit, bytes)?;
        self.inline_tails.has_encoded |= is_kept && !is_flat;
        Ok(if is_kept || tail == 0 {
            StoredBytes { now, gap: 0 }
        } else if is_flat {
            StoredBytes {
                now: stored,
                gap: 0,
            }
        } else {
            // a pcluster without a place after the inode becomes a whole block
            StoredBytes {
                now,
                gap: BLOCK - tail as u64,
            }
        })
    }

    /// Returns whether an inline tail may have the given length.
    fn is_short_tail(&self, len: usize) -> bool {
        let is_half = 2 * len as u64 <= self.options.own.extended.block.bytes();
        is_short_tail(len) && is_half
    }

    /// Returns whether the ends of units that are stored uncompressed without being cut may be
    /// inline.
    fn has_flat_tails(&self) -> bool {
        self.options.tails() == TailPlacement::Alone || self.sideband.tails.is_some()
    }

    /// Returns what a block was cut into; `None` if it is stored as a whole.
    fn encoded(&self, block: &Block) -> Result<Option<EncodedUnit>> {
        if let Some(encoded) = &self.sideband.encoded {
            let unit = encoded.get(block.sequence);
            return unit.ok_or_else(map_violates_geometry).map(Some);
        }
        let is_cut = !block.parts().is_empty();
        Ok(is_cut.then(|| EncodedUnit::from_pieces(block.sequence, block.parts())))
    }

    /// Lists the pclusters in blocks that are stored with a block.
    pub(super) fn own_pclusters(&self, block: &Block) -> Vec<PclusterRef> {
        let encoded = self.encoded(block).ok().flatten();
        encoded.map_or(Vec::new(), |encoded| {
            encoded.own_pclusters(block.sequence).copied().collect()
        })
    }

    /// Returns where the shared tail of a unit is, if it has one.
    pub(super) fn shared_tail(&self, unit: u32) -> Option<SharedTail> {
        self.sideband.tails.as_ref()?.get(unit)
    }

    /// Returns whether a unit is stored uncompressed as a whole.
    pub(super) fn is_flat_unit(&self, unit: u32) -> bool {
        match &self.sideband.encoded {
            Some(encoded) => encoded.get(unit).is_some_and(|encoded| encoded.is_flat),
            None => self.pieces.get(unit).is_empty(),
        }
    }

    /// Returns what a unit that was written is decoded from.
    pub(super) fn layout(&self, unit: u32) -> Result<EncodedUnit> {
        if let Some(encoded) = &self.sideband.encoded {
            return encoded.get(unit).ok_or_else(map_violates_geometry);
        }
        let pieces = self.pieces.get(unit);
        if !pieces.is_empty() {
            return Ok(EncodedUnit::from_pieces(unit, pieces));
        }
        let placed = self.units.get(unit)?;
        let tail = self.inline_tails.get(unit).len();
        let shared = self.shared_tail(unit).map_or(0, |tail| tail.len as usize);
        let raw = (placed.raw as usize).saturating_sub(tail + shared);
        let refs = match self.options.form() {
            Form::Clusters => flat_refs(unit, raw),
            Form::Plain | Form::Chunks | Form::Extents => {
                let whole = piece(raw, raw.min(placed.stored as usize));
                refs_in_row(unit, (raw > 0).then_some(whole))
            }
        };
        Ok(EncodedUnit {
            refs,
            is_flat: true,
            inline: (tail > 0).then(|| piece(tail, tail)),
        })
    }

    /// Moves all content by the given number of bytes.
    pub(super) fn move_by(&mut self, bytes: u64) {
        self.units.move_by(bytes);
        self.inline_tails.move_by(bytes);
        self.packed.move_by(bytes);
    }
}

/// Returns whether the parts of a block are all of it but a shared tail of the given length; a
/// block that was not cut must not be longer than its content.
fn covers(block: &Block, encoded: Option<&EncodedUnit>, shared: u32) -> bool {
    let stored = block.bytes.len() as u64;
    let Some(encoded) = encoded else {
        let raw = u64::from(block.decoded_len.saturating_sub(shared));
        return stored <= raw && (stored > 0 || raw == 0);
    };
    if encoded.is_flat {
        return true;
    }
    let mut end = 0;
    let follow = encoded.refs.iter().all(|one| {
        let follows = one.start == end && one.raw > 0;
        end = one.end();
        follows
    });
    let inline = encoded.inline.unwrap_or(piece(0, 0));
    let own = encoded.own_pclusters(block.sequence);
    let own: u64 = own.map(|pcluster| u64::from(pcluster.stored)).sum();
    follow
        && end + inline.decoded_len + shared >= block.decoded_len
        && own + u64::from(inline.stored_len) == stored
}
