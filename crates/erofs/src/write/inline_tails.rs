//! TailPlacement of units that wait in memory for their inodes, which are written last.
//!
//! In: tails in the sequence of units. Out: the tail of a unit, or where it was written after all.
//! **Invariant:** memory is at most `INLINE_TAILS_MAX`, and 16 bytes for each tail.

use std::collections::BTreeMap;

/// The most bytes of tails that are kept; later ones get blocks of their own.
pub(super) const INLINE_TAILS_MAX: usize = 256 << 20;

/// All inline tails.
#[derive(Debug, Default)]
pub(super) struct InlineTails {
    /// The tails, one after the other.
    pub(super) bytes: Vec<u8>,
    /// The units that have tails, and where these begin.
    starts: Vec<(u32, usize)>,
    /// Where tails were written that turned out to have no place behind an inode.
    homeless: BTreeMap<u32, u64>,
    has_encoded: bool,
}

impl InlineTails {
    /// Keeps the tail of a unit, and returns whether there was room for it.
    pub(super) fn push(&mut self, unit: u32, tail: &[u8]) -> bool {
        if tail.len() > INLINE_TAILS_MAX.saturating_sub(self.bytes.len()) {
            return false;
        }
        self.starts.push((unit, self.bytes.len()));
        self.bytes.extend_from_slice(tail);
        true
    }

    /// Keeps a tail that is a pcluster.
    pub(super) fn push_encoded(&mut self, unit: u32, tail: &[u8]) -> bool {
        let kept = self.push(unit, tail);
        self.has_encoded |= kept;
        kept
    }

    /// Returns whether some tails are pclusters.
    pub(super) fn has_encoded(&self) -> bool {
        self.has_encoded
    }

    /// Returns the tail of a unit; empty if none was kept.
    pub(super) fn get(&self, unit: u32) -> &[u8] {
        let Ok(at) = self.starts.binary_search_by_key(&unit, |entry| entry.0) else {
            return &[];
        };
        let start = |at: usize| self.starts.get(at).map(|entry| entry.1);
        let end = start(at + 1).unwrap_or(self.bytes.len());
        let range = start(at).unwrap_or(end)..end;
        self.bytes.get(range).unwrap_or_default()
    }

    /// Records where tails were written that have no place behind an inode, by unit.
    pub(super) fn set_homeless(&mut self, offsets: BTreeMap<u32, u64>) {
        self.homeless = offsets;
    }

    /// Returns where the tail of a unit was written that has no place behind an inode.
    pub(super) fn homeless(&self, unit: u32) -> Option<u64> {
        self.homeless.get(&unit).copied()
    }

    /// Moves the tails that were written by so many bytes.
    pub(super) fn move_by(&mut self, bytes: u64) {
        for offset in self.homeless.values_mut() {
            *offset = offset.saturating_add(bytes);
        }
    }
}
