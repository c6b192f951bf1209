//! The state of scanning one buffer of a content for matches.
//!
//! **Invariant:** `stored` never decreases; what is before it is stored or referred to.

use sinterfs_model::Category;

use crate::anchors::{Anchor, BlockPosition};

/// A buffer while it is scanned.
pub(super) struct DataScan<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) category: Category,
    /// The granularity of the category.
    pub(super) grain: usize,
    /// The end of the bytes that are stored or referred to.
    pub(super) stored: usize,
    /// The end of a match that was too short; anchors before it are skipped.
    pub(super) skip_to: usize,
    pub(super) anchors: &'a [Anchor],
    /// The index of the first anchor that is not handled yet.
    pub(super) noted: usize,
}

impl DataScan<'_> {
    /// Rounds down to whole grains.
    pub(super) fn whole(&self, len: usize) -> usize {
        len / self.grain * self.grain
    }
}

/// A range of a buffer that is stored already.
#[derive(Clone, Copy)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) position: BlockPosition,
}
