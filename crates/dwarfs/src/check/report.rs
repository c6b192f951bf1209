//! The findings of a check.
//!
//! **Invariant:** findings are in the order of the image, regardless of threads.

use sinterfs_model::Findings;

/// The findings of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of sections checked.
    pub sections: u64,
    /// The number of blocks decoded.
    pub blocks: u64,
    /// The number of stored bytes hashed.
    pub bytes: u64,
    /// The number of bytes after the image, which are not part of it.
    pub after: u64,
    /// Problems and notes, in the order of the image.
    pub findings: Findings,
}

impl Report {
    /// Returns whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.findings.is_sound()
    }
}
