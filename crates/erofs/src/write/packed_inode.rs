//! What is in the packed inode: units that are fragments, then groups of shared tails, then a table
//! of long prefixes.
//!
//! In: fragments by unit, groups as they are written. Out: offsets in the packed inode.
//! **Invariant:** fragments are in the order of their units; memory is 16 bytes for each fragment
//! and for each group, 8 for each pcluster of groups.

use sinterfs_model::{Result, StoredPart};

use super::packed_tails::TailGroup;
use super::unit_table::map_violates_geometry;

/// The layout of the packed inode.
#[derive(Debug, Default)]
pub(super) struct PackedInode {
    /// The units that are fragments, and their offsets in the packed inode.
    fragments: Vec<(u32, u64)>,
    /// Where the first group is in the packed inode.
    tails_start: u64,
    /// Where groups begin in the image and in `pieces`.
    groups: Vec<(u64, usize)>,
    pieces: Vec<StoredPart>,
    /// The offset and the length of the table of long prefixes at its end, which is always in the
    /// image itself.
    pub(super) prefixes: Option<(u64, u32)>,
}

impl PackedInode {
    /// Forgets the offsets of fragments.
    pub(super) fn clear_fragments(&mut self) {
        self.fragments.clear();
    }

    /// Records the offset of the next fragment.
    pub(super) fn push_fragment(&mut self, unit: u32, offset: u64) {
        self.fragments.push((unit, offset));
    }

    /// Returns the offset of a byte of a fragment.
    pub(super) fn fragment_offset(&self, unit: u32, byte: u32) -> Result<u64> {
        let at = self.fragments.binary_search_by_key(&unit, |entry| entry.0);
        let entry = at.ok().and_then(|at| self.fragments.get(at));
        let (_, start) = entry.ok_or_else(map_violates_geometry)?;
        Ok(start + u64::from(byte))
    }

    /// Records where a group was written in the image.
    pub(super) fn push_group(&mut self, start: u64, group: &TailGroup) {
        self.groups.push((start, self.pieces.len()));
        self.pieces.extend_from_slice(&group.pieces);
    }

    /// Iterates over the groups: their offsets in the image, and their pclusters.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u64, &[StoredPart])> {
        let ends = self.groups.iter().skip(1).map(|group| group.1);
        let ends = ends.chain([self.pieces.len()]);
        self.groups.iter().zip(ends).map(|(&(start, from), end)| {
            let pieces = self.pieces.get(from..end);
            (start, pieces.unwrap_or_default())
        })
    }

    /// Records the offset of the first group.
    pub(super) fn set_tails_start(&mut self, offset: u64) {
        self.tails_start = offset;
    }

    /// Returns the offset of the first group.
    pub(super) fn tails_start(&self) -> u64 {
        self.tails_start
    }

    /// Moves the groups in the image by so many bytes.
    pub(super) fn move_by(&mut self, bytes: u64) {
        for group in &mut self.groups {
            group.0 = group.0.saturating_add(bytes);
        }
    }
}
