//! What a merge is given: sources with their places in the common tree, and how they are merged.
//!
//! **Invariant:** plain data; `Merge::new` checks the paths.

use sinterfs_model::Source;

use super::whiteouts::WhiteoutMarks;
use crate::Exclude;

/// A source and the path of its tree.
pub struct MergeInput {
    /// The source.
    pub source: Box<dyn Source>,
    /// The path of its root, without slashes at its ends; empty for the common root.
    pub at: Vec<u8>,
    /// The names in its root to take, and the path of each; if empty, all of it goes to `at`.
    pub picks: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its name in messages.
    pub name: String,
    /// The whiteouts that hide names of earlier sources.
    pub marks: WhiteoutMarks,
}

impl std::fmt::Debug for MergeInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeInput")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// How trees are merged.
#[derive(Debug, Clone, Default)]
pub struct MergeOptions {
    /// Whether a conflict is an error.
    pub strict: bool,
    /// Whether the sources are layers, which may hide names of lower ones.
    pub layers: bool,
    /// What is excluded from the common tree.
    pub exclude: Exclude,
}
