//! Runs that have been found in a map.
//!
//! In: runs of one inode. Out: those that hold a position.
//!
//! **Invariant:** runs never change, so none is out of date. At most `MOST` are kept, which is some
//! 300 KiB.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::Run;

/// How many runs are kept; all are forgotten when one more comes.
const MOST: usize = 4096;

/// Runs by their starts.
#[derive(Debug, Default)]
pub(in crate::read) struct Found(RwLock<BTreeMap<u64, Run>>);

impl Found {
    /// Returns the run that holds a position.
    pub(super) fn get(&self, position: u64) -> Option<Run> {
        let runs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (_, run) = runs.range(..=position).next_back()?;
        (position < run.end()).then_some(*run)
    }

    /// Takes note of a run.
    pub(super) fn put(&self, run: Run) {
        let mut runs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= MOST {
            runs.clear();
        }
        runs.insert(run.start, run);
    }
}
