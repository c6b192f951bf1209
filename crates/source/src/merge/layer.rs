//! What the layers of a merge have at a path of the common tree.

use std::collections::HashSet;

use sinterfs_model::NodeId;

use super::links::Origin;

/// What one source has at a path of the common tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) part: u32,
    /// The path from here to the root of the source; empty within the source.
    pub(super) mount_path: &'a [u8],
    /// The node of the source; what is placed at the end of `mount_path` while that is not empty.
    pub(super) node: NodeId,
}

/// The directories that are elsewhere.
#[derive(Debug, Default)]
pub(super) struct Moved<'a> {
    pub(super) directories: HashSet<Origin>,
    /// Each as one more root of its source, in the order of sources.
    pub(super) roots: Vec<Layer<'a>>,
}

impl Moved<'_> {
    /// Returns whether a directory of a source is elsewhere.
    pub(super) fn has(&self, part: u32, node: NodeId) -> bool {
        !self.directories.is_empty() && self.directories.contains(&Origin { part, node })
    }
}
