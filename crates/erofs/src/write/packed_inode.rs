//! The content of the packed inode: units that are fragments, then groups of shared tails, then a
//! table of long prefixes.
//!
//! In: fragments by unit, groups as they are written. Out: offsets in the packed inode.
//! **Invariant:** fragments are in the order of their units; memory is 16 bytes for each fragment,
//! 32 for each group and 8 for each pcluster of groups.

use sinterfs_model::{Result, StoredPart};

use super::packed_tails::SharedTail;
use super::unit_table::map_violates_geometry;

/// The layout of the packed inode.
#[derive(Debug, Default)]
pub(super) struct PackedInode {
    /// The units that are fragments, and their offsets in the packed inode.
    fragments: Vec<(u32, u64)>,
    /// The position of the first group in the packed inode.
    tails_start: u64,
    /// The positions of groups in the image, and their pclusters.
    pub(super) groups: Vec<(u64, Vec<StoredPart>)>,
    /// The offset and the length of the table of long prefixes at its end, which is always in the
    /// image itself.
    pub(super) prefixes: Option<(u64, u32)>,
}

impl PackedInode {
    /// Places fragments, which are units and their lengths, consecutively, and groups after them.
    pub(super) fn place(&mut self, fragments: Vec<(u32, u64)>) {
        self.tails_start = 0;
        self.fragments = fragments;
        for (_, offset) in &mut self.fragments {
            let len = std::mem::replace(offset, self.tails_start);
            self.tails_start += len;
        }
    }

    /// Iterates over the units that are fragments.
    pub(super) fn fragments(&self) -> impl Iterator<Item = u32> {
        self.fragments.iter().map(|&(unit, _)| unit)
    }

    /// Returns the offset of a byte of a fragment.
    pub(super) fn fragment_offset(&self, unit: u32, byte: u32) -> Result<u64> {
        let at = self.fragments.binary_search_by_key(&unit, |entry| entry.0);
        let entry = at.ok().and_then(|at| self.fragments.get(at));
        let (_, start) = entry.ok_or_else(map_violates_geometry)?;
        Ok(start + u64::from(byte))
    }

    /// Returns the offset of a shared tail.
    pub(super) fn tail_offset(&self, tail: SharedTail) -> u64 {
        self.tails_start + tail.offset
    }

    /// Moves the groups in the image by the given number of bytes.
    pub(super) fn move_by(&mut self, bytes: u64) {
        for group in &mut self.groups {
            group.0 = group.0.saturating_add(bytes);
        }
    }
}
