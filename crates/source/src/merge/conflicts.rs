//! The conflicts of a merge: names that several sources have.
//!
//! Enters names as the union finds them; leaves their number and the first of them for messages.
//! **Invariant:** what is kept is bounded, whatever the sources are (`KEPT`, checked by `note`).

use std::path::PathBuf;

use sinterfs_platform::names;

/// The most conflicts that are kept for messages.
const KEPT: usize = 100;

/// A name that several sources have, of which only the last is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The path in the common tree.
    pub path: Vec<u8>,
    /// The source whose file is hidden.
    pub hidden: String,
    /// The source whose file is kept.
    pub kept: String,
}

/// The conflicts of a merge.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Conflicts {
    /// The number of hidden names, not counting those below a hidden directory.
    pub count: u64,
    /// The first hundred, in depth-first order.
    pub first: Vec<Conflict>,
}

impl Conflicts {
    /// Counts a conflict, and keeps it if it is one of the first.
    pub(super) fn note(&mut self, conflict: impl FnOnce() -> Conflict) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(conflict());
        }
    }
}

/// Returns a path of a tree for messages.
pub(super) fn display_path(path: &[u8]) -> PathBuf {
    names::path_buf(path.to_vec())
}
