//! The versions of the format that a composefs image may have.
//!
//! **Invariant:** after `check`, both are 0 or 1 and the lowest is not above the highest.

use sinterfs_model::{Error, Result};

/// The versions of the format that an image may have: the lowest one that keeps all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The lowest: 0 or 1.
    pub min: u32,
    /// The highest: 0 or 1, which marks directories with whiteouts.
    pub max: u32,
}

impl Default for Versions {
    fn default() -> Self {
        Self { min: 0, max: 1 }
    }
}

impl Versions {
    /// `Invalid` for versions that there are not.
    pub(super) fn check(self) -> Result<Self> {
        if self.min <= self.max && self.max <= 1 {
            Ok(self)
        } else {
            Err(Error::invalid(format!(
                "versions {} to {} of the format: there are 0 and 1",
                self.min, self.max
            )))
        }
    }
}
