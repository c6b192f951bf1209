//! Extents that were found in a map.
//!
//! In: extents of one inode. Out: the one at a position.
//!
//! **Invariant:** extents never change, so none is out of date. At most `MAX_EXTENTS` are kept,
//! which is some 300 KiB.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::mapped::MappedExtent;

/// The number of extents that are kept; one more replaces all of them.
const MAX_EXTENTS: usize = 4096;

/// Extents by their starts.
#[derive(Debug, Default)]
pub(super) struct FoundExtents(RwLock<BTreeMap<u64, MappedExtent>>);

impl FoundExtents {
    /// Returns the extent at a position.
    pub(super) fn get(&self, position: u64) -> Option<MappedExtent> {
        let runs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (_, mapped) = runs.range(..=position).next_back()?;
        (position < mapped.end()).then_some(*mapped)
    }

    /// Remembers an extent.
    pub(super) fn put(&self, mapped: MappedExtent) {
        let mut runs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= MAX_EXTENTS {
            runs.clear();
        }
        runs.insert(mapped.start, mapped);
    }
}
