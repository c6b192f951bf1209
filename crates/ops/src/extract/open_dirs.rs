//! The open directories of a target, by their index in the plan.
//!
//! In: directories as they are opened. Out: those that are still open. **Invariant:** at most
//! `TIERS` of them are open; of each tier the oldest is closed first. A way up or down through any
//! number of levels opens each directory a few times at most: besides the last directories of the
//! path, each 64th, each 4096th and each 262,144th level stays open.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sinterfs_platform::Directory;

/// Levels between directories of the second tier.
pub(super) const LEVELS_PER_TIER: u32 = 64;

/// The levels of each tier are multiples of a number; and how many of them are open.
const TIERS: [(u32, usize); 4] = [
    (1 << 18, 16),
    (1 << 12, 64),
    (LEVELS_PER_TIER, 64),
    (1, 256),
];

/// Directories that are open.
#[derive(Debug, Default)]
pub(super) struct OpenDirs {
    fds: HashMap<u32, Arc<Directory>>,
    tiers: [VecDeque<u32>; TIERS.len()],
}

impl OpenDirs {
    /// Returns a directory if it is open.
    pub(super) fn get(&self, index: u32) -> Option<Arc<Directory>> {
        self.fds.get(&index).map(Arc::clone)
    }

    /// Keeps a directory of the given depth open.
    pub(super) fn insert(&mut self, index: u32, depth: u32, fd: &Arc<Directory>) {
        let tiers = self.tiers.iter_mut().zip(TIERS);
        let mut tiers = tiers.filter(|(_, (levels, _))| depth.is_multiple_of(*levels));
        let Some((tier, (_, most))) = tiers.next() else {
            return;
        };
        if self.fds.insert(index, Arc::clone(fd)).is_none() {
            tier.push_back(index);
        }
        while tier.len() > most {
            if let Some(oldest) = tier.pop_front() {
                self.fds.remove(&oldest);
            }
        }
    }
}
