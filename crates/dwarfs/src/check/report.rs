//! What a check found.
//!
//! **Invariant:** findings are in the order of the image, whatever thread made them.

use sinterfs_model::Findings;

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Sections that were looked at.
    pub sections: u64,
    /// Blocks that were decoded.
    pub blocks: u64,
    /// Stored bytes that were hashed.
    pub bytes: u64,
    /// What is wrong or unusual, in the order of the image.
    pub findings: Findings,
}

impl Report {
    /// Returns whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_sound()
    }
}
