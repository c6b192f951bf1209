//! One side of a comparison: a tree and the source of its files.

use sinterfs_model::{Source, Tree};

/// One of two trees.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The source of the content of files.
    pub source: &'a dyn Source,
    /// Its tree.
    pub tree: &'a Tree,
}

impl std::fmt::Debug for Side<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side")
            .field("nodes", &self.tree.nodes().len())
            .finish_non_exhaustive()
    }
}
