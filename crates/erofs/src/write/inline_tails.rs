//! Tails of units that wait in memory for their inodes, which are written last.
//!
//! In: tails in the sequence of units. Out: the tail of a unit, or where it was written after all.
//! **Invariant:** memory is at most `INLINE_TAILS_MAX`, and 8 bytes for each tail.

use std::collections::BTreeMap;

use sinterfs_model::Result;

use super::slice_table::SliceTable;

/// The maximum number of bytes of tails that are kept; later tails get separate blocks.
pub(super) const INLINE_TAILS_MAX: usize = 256 << 20;

/// All inline tails.
#[derive(Debug, Default)]
pub(super) struct InlineTails {
    pub(super) tails: SliceTable<u8>,
    /// The positions of tails that turned out to have no place after an inode, by unit.
    pub(super) displaced: BTreeMap<u32, u64>,
    /// Whether some tails are pclusters.
    pub(super) has_encoded: bool,
}

impl InlineTails {
    /// Keeps the tail of a unit, and returns whether there was room for it.
    pub(super) fn push(&mut self, unit: u32, tail: &[u8]) -> Result<bool> {
        if tail.len() > INLINE_TAILS_MAX.saturating_sub(self.tails.items.len()) {
            return Ok(false);
        }
        self.tails.push(unit, tail)?;
        Ok(true)
    }

    /// Returns the tail of a unit; empty if none was kept.
    pub(super) fn get(&self, unit: u32) -> &[u8] {
        self.tails.get(unit)
    }

    /// Moves the written tails by the given number of bytes.
    pub(super) fn move_by(&mut self, bytes: u64) {
        for offset in self.displaced.values_mut() {
            *offset = offset.saturating_add(bytes);
        }
    }
}
