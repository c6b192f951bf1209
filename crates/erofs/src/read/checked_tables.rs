//! The tables of extents that were found to be in order.
//!
//! In: inodes whose tables were checked. Out: whether an inode is among them.
//!
//! **Invariant:** metadata never changes, so no result is out of date; only good ones are kept, so
//! a table that is not in order is refused each time. At most `MAX_RESULTS` are kept, which is some
//! 300 KiB.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use sinterfs_model::Result;

/// The number of results that are kept; one more replaces all of them.
const MAX_RESULTS: usize = 1 << 14;

/// The inodes whose extents are sorted, disjoint and inside the file.
#[derive(Debug, Default)]
pub(super) struct CheckedTables(RwLock<HashSet<u64>>);

impl CheckedTables {
    /// Calls `check` for an inode's table, unless that has succeeded before.
    pub(super) fn ensure(&self, nid: u64, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if known.contains(&nid) {
            return Ok(());
        }
        drop(known);
        check()?;
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_RESULTS {
            known.clear();
        }
        known.insert(nid);
        Ok(())
    }
}
