//! New directories that have hidden names until all that belongs to them is complete.
//!
//! In: the directories of a plan, and what is complete of them. Out: directories under their final
//! names. **Invariant:** what is created in a hidden directory gets its final name directly, and is
//! not seen under a final path before the topmost hidden directory is renamed: that is done when
//! nothing of it is missing, counted without locks. A hidden directory holds at most `MAX_ENTRIES`
//! entries, `MAX_BYTES` of data and `MAX_LEVELS` levels, so that a kill loses no more of each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use sinterfs_platform::RENAMES_OPEN_DIRS;

use super::leftovers::MAX_LEVELS;
use super::lock::lock;
use crate::plan::{NameRef, Plan};

const MAX_ENTRIES: u64 = 4096;
const MAX_BYTES: u64 = 1 << 30;

/// The topmost hidden directory of those that are not hidden.
const OPEN: u32 = u32::MAX;

/// The hidden directories of a target, by their index in the plan.
#[derive(Debug)]
pub(super) struct HiddenDirs {
    /// Whether what is in each directory is little enough to be hidden.
    is_small: Vec<bool>,
    /// The topmost hidden directory of each directory.
    tops: Vec<AtomicU32>,
    /// What is missing in each topmost one.
    missing: Vec<AtomicU32>,
    /// The names of topmost ones that do not have their final names.
    names: Mutex<HashMap<u32, Vec<u8>>>,
    /// The hidden directories after their topmost ones; known when all directories are made.
    members: OnceLock<Vec<(u32, u32)>>,
}

impl HiddenDirs {
    /// Finds out which directories of a plan may be hidden.
    pub(super) fn new(plan: &Plan) -> Self {
        let count = if RENAMES_OPEN_DIRS {
            plan.dirs.len()
        } else {
            0
        };
        let counters = |start| (0..count).map(|_| AtomicU32::new(start)).collect();
        Self {
            is_small: small_dirs(plan, count),
            tops: counters(OPEN),
            missing: counters(0),
            names: Mutex::default(),
            members: OnceLock::new(),
        }
    }

    /// Returns the topmost hidden directory of a directory that is hidden.
    pub(super) fn top(&self, dir: u32) -> Option<u32> {
        let top = self.tops.get(dir as usize)?.load(Ordering::Relaxed);
        (top != OPEN).then_some(top)
    }

    /// Returns the hidden name that a directory has now.
    pub(super) fn name(&self, dir: u32) -> Option<Vec<u8>> {
        if self.top(dir) != Some(dir) {
            return None;
        }
        lock(&self.names).get(&dir).cloned()
    }

    /// Returns whether what is in a directory is little enough to be hidden.
    pub(super) fn may_hide(&self, dir: u32) -> bool {
        self.is_small.get(dir as usize).copied().unwrap_or(false)
    }

    /// Takes note of a topmost hidden directory and the name that it has.
    pub(super) fn begin(&self, top: u32, hidden: Vec<u8>) {
        lock(&self.names).insert(top, hidden);
        self.join(top, top);
    }

    /// Takes note that a topmost hidden directory has its final name, or is gone.
    pub(super) fn end(&self, top: u32) {
        lock(&self.names).remove(&top);
    }

    /// Takes note of a directory in a hidden one.
    pub(super) fn join(&self, dir: u32, top: u32) {
        if let Some(entry) = self.tops.get(dir as usize) {
            entry.store(top, Ordering::Relaxed);
        }
    }

    /// Counts what the hidden directories lack, once all directories are made.
    pub(super) fn expect(&self, plan: &Plan) {
        let leaves = plan.leaves.iter().map(|leaf| leaf.name_ref);
        let aliases = plan.aliases.iter().map(|alias| alias.name_ref);
        for name_ref in leaves.chain(aliases) {
            if let Some(top) = self.top(name_ref.dir) {
                self.missing_of(top).fetch_add(1, Ordering::Relaxed);
            }
        }
        let dirs = (0..).zip(&self.tops);
        let mut members: Vec<(u32, u32)> = dirs
            .map(|(dir, top)| (top.load(Ordering::Relaxed), dir))
            .filter(|(top, _)| *top != OPEN)
            .collect();
        members.sort_unstable();
        let _ = self.members.set(members);
    }

    fn missing_of(&self, top: u32) -> &AtomicU32 {
        &self.missing[top as usize]
    }

    /// Takes note that an entry of a directory is done, well or not. Returns the topmost hidden
    /// directory if it was the last one that this lacked.
    pub(super) fn arrived(&self, name_ref: NameRef) -> Option<u32> {
        let top = self.top(name_ref.dir)?;
        (self.missing_of(top).fetch_sub(1, Ordering::AcqRel) == 1).then_some(top)
    }

    /// Returns a topmost hidden directory and all hidden ones below it, the deepest first.
    pub(super) fn deepest_first(&self, top: u32) -> impl Iterator<Item = u32> {
        let members = self.members.get().map_or(&[][..], Vec::as_slice);
        let start = members.partition_point(|(other, _)| *other < top);
        let end = members.partition_point(|(other, _)| *other <= top);
        let members = members.get(start..end).unwrap_or_default();
        members.iter().rev().map(|(_, dir)| *dir)
    }

    /// Returns the topmost hidden directories that do not have their final names.
    pub(super) fn left(&self) -> Vec<u32> {
        let mut left: Vec<u32> = lock(&self.names).keys().copied().collect();
        left.sort_unstable();
        left
    }
}

/// Returns for each directory whether it and all below it are within the limits.
fn small_dirs(plan: &Plan, count: usize) -> Vec<bool> {
    let mut below: Vec<(u64, u64, u32)> = Vec::with_capacity(count);
    let held = plan.held().iter().take(count);
    below.extend(held.map(|held| (held.entries, held.bytes, 1)));
    // parents come first
    for (index, dir) in plan.dirs.iter().enumerate().take(count).skip(1).rev() {
        let (entries, bytes, levels) = below[index];
        let above = &mut below[dir.name_ref.dir as usize];
        above.0 += entries + 1;
        above.1 = above.1.saturating_add(bytes);
        above.2 = above.2.max(levels.saturating_add(1));
    }
    let is_small = |(entries, bytes, levels): (u64, u64, u32)| {
        entries <= MAX_ENTRIES && bytes <= MAX_BYTES && levels <= MAX_LEVELS
    };
    below.into_iter().map(is_small).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinterfs_model::Ino;

    #[test]
    fn directories_are_hidden_up_to_a_number_of_levels() {
        let mut plan = Plan::new(Ino(1));
        let mut dir = 0;
        for level in 0..2 * MAX_LEVELS {
            dir = plan.add_dir(dir, b"d", Ino(u64::from(level) + 2)).unwrap();
        }
        let small = small_dirs(&plan, plan.dirs.len());
        let first = small.iter().position(|is_small| *is_small).unwrap();
        assert_eq!(small.len() - first, MAX_LEVELS as usize);
        assert!(small[first..].iter().all(|is_small| *is_small));
    }
}
