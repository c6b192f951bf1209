//! The parents of all directories, for images without an export table.

use sinterfs_model::Ino;

/// Directories and their parents, sorted; 16 bytes each.
#[derive(Debug)]
pub(crate) struct Parents(Vec<(Ino, Ino)>);

impl Parents {
    /// Makes the table from `(directory, parent)` pairs.
    pub(super) fn new(mut pairs: Vec<(Ino, Ino)>) -> Self {
        pairs.sort_unstable();
        Self(pairs)
    }

    /// Returns the parent of a directory.
    pub(super) fn of(&self, dir: Ino) -> Option<Ino> {
        let found = self.0.binary_search_by_key(&dir, |(dir, _)| *dir).ok()?;
        self.0.get(found).map(|(_, parent)| *parent)
    }
}
