//! The leaves of one object on disk.
//!
//! **Invariant:** a leaf's sum is written after its bytes; a reader compares them, so that halves
//! of either are a miss.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use sinterfs_model::{Error, Result};
use sinterfs_platform::{FileAt, files, range_locks};

use super::CacheOptions;
use super::directory::{
    CacheDirectory, describe, open_file, read_description, require_own, write_whole,
};
use super::sum::sum_of;
use super::tidy;
use crate::leaves::Leaf;
use crate::plan::{self, LEAF};
use crate::version::ObjectVersion;

/// Bytes that are stored between two looks at the size of the cache.
const BETWEEN: u64 = 64 << 20;

/// The stored leaves of an object.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    data: File,
    leaves: File,
    len: u64,
    options: CacheOptions,
    /// Whether leaves are stored; not after a failure, nor in a cache that cannot be written.
    writes: AtomicBool,
    warned: AtomicBool,
    /// Whether there was no room for the last leaves.
    full: AtomicBool,
    /// Bytes that were stored since the size of the cache was looked at.
    stored: AtomicU64,
    storing: Mutex<()>,
    /// Held while the object is open: what is locked is not removed.
    _open: File,
}

impl Store {
    /// Opens the leaves of an object, making its files if they are missing.
    pub(crate) fn open(
        cache: &CacheDirectory,
        url: &str,
        version: &ObjectVersion,
        options: &CacheOptions,
    ) -> Result<Self> {
        let dir = cache.object(url, version);
        let io = |error| Error::io("cannot use the cache", error).path(&dir);
        let (open, writes) = hold(&dir)?;
        let about = dir.join("about");
        if writes && read_description(&about).is_none_or(|(_, found)| found != *version) {
            write_whole(&about, &describe(url, version))?;
        }
        let store = Self {
            data: open_file(&dir.join("data"), writes).map_err(io)?,
            leaves: open_file(&dir.join("leaves"), writes).map_err(io)?,
            len: version.len,
            options: options.clone(),
            writes: AtomicBool::new(writes),
            warned: AtomicBool::new(false),
            full: AtomicBool::new(false),
            stored: AtomicU64::new(BETWEEN),
            storing: Mutex::new(()),
            _open: open,
            dir,
        };
        store.touch();
        Ok(store)
    }

    /// Returns a leaf if it is there and whole.
    pub(crate) fn get(&self, leaf: u64) -> Option<Leaf> {
        let sum = self.sum(leaf)?;
        let range = plan::bytes(&(leaf..leaf.saturating_add(1)), self.len);
        let len = usize::try_from(range.end.saturating_sub(range.start)).ok()?;
        let mut bytes = vec![0; len];
        self.data.read_exact_at(&mut bytes, range.start).ok()?;
        (sum_of(&bytes) == sum).then(|| Leaf::from(bytes))
    }

    /// Returns whether leaves are stored: not after a failure, nor when there was no room.
    pub(crate) fn writes(&self) -> bool {
        self.writes.load(Ordering::Relaxed) && !self.full.load(Ordering::Relaxed)
    }

    /// Returns whether a leaf seems to be there.
    pub(crate) fn has(&self, leaf: u64) -> bool {
        self.sum(leaf).is_some()
    }

    fn sum(&self, leaf: u64) -> Option<u64> {
        let mut sum = [0; 8];
        let at = leaf.checked_mul(8)?;
        self.leaves.read_exact_at(&mut sum, at).ok()?;
        Some(u64::from_le_bytes(sum)).filter(|&sum| sum != 0)
    }

    /// Stores leaves, in their order from the first one on.
    pub(crate) fn put(&self, first: u64, leaves: &[Leaf]) {
        // one at a time, so that the bound counts what others are about to store
        let _one = self.storing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.writes.load(Ordering::Relaxed) || leaves.is_empty() || !self.has_room(leaves) {
            return;
        }
        if let Err(error) = self.write(first, leaves) {
            self.writes.store(false, Ordering::Relaxed);
            self.warn(&Error::io("cannot write to the cache", error).path(&self.dir));
        }
    }

    fn write(&self, first: u64, leaves: &[Leaf]) -> std::io::Result<()> {
        let mut sums = Vec::with_capacity(leaves.len() * 8);
        for (number, leaf) in (first..).zip(leaves) {
            self.data.write_all_at(leaf, number.saturating_mul(LEAF))?;
            sums.extend(sum_of(leaf).to_le_bytes());
        }
        self.leaves.write_all_at(&sums, first.saturating_mul(8))
    }

    /// Has a leaf fetched again, by other processes, too.
    pub(crate) fn forget_leaf(&self, leaf: u64) {
        let _one = self.storing.lock().unwrap_or_else(PoisonError::into_inner);
        // in a cache that cannot be written it stays what it is: an error of whoever reads it
        if self.sum(leaf).is_some() {
            let _ = self.leaves.write_all_at(&[0; 8], leaf.saturating_mul(8));
        }
    }

    /// Has all leaves fetched again, by other processes, too.
    pub(crate) fn forget(&self) -> std::io::Result<()> {
        self.leaves.set_len(0)
    }

    /// Returns whether leaves may be stored; makes room now and then.
    fn has_room(&self, leaves: &[Leaf]) -> bool {
        let bytes: u64 = leaves.iter().map(|leaf| leaf.len() as u64).sum();
        let stored = self.stored.fetch_add(bytes, Ordering::Relaxed);
        let between = BETWEEN.min(self.options.limit / 16);
        if stored.saturating_add(bytes) < between {
            return true;
        }
        self.stored.store(0, Ordering::Relaxed);
        self.touch();
        let percent = u64::from(self.options.free_percent);
        let reserve = files::room(&self.data)
            .map_or(0, |(free, all)| (all / 100 * percent).saturating_sub(free));
        let limit = self.options.limit.saturating_sub(between.max(bytes));
        let room = tidy::make_room(&self.options.directory, limit, reserve);
        self.full.store(!room, Ordering::Relaxed);
        if !room {
            // looked up again after the next leaves
            self.stored.store(BETWEEN, Ordering::Relaxed);
        }
        room
    }

    /// Notes that the object is in use.
    fn touch(&self) {
        if let Ok(about) = open_file(&self.dir.join("about"), self.writes()) {
            // only the order of removal depends on it
            let _ = about.set_modified(SystemTime::now());
        }
    }

    pub(crate) fn warn(&self, error: &Error) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            (self.options.warn)(error);
        }
    }

    /// Tries to become the one process that fetches these leaves: a byte of the file of sums is
    /// locked for each. Without such locks, several processes may fetch them.
    pub(crate) fn try_lock(&self, leaves: &Range<u64>) -> LeafLock<'_> {
        if !self.writes.load(Ordering::Relaxed) {
            return LeafLock::Useless;
        }
        match range_locks::lock(&self.leaves, leaves) {
            Some(true) => LeafLock::Held(self, leaves.clone()),
            Some(false) => LeafLock::Busy,
            None => LeafLock::Useless,
        }
    }
}

/// Whether this process is the one that fetches.
#[derive(Debug)]
pub(crate) enum LeafLock<'a> {
    Held(&'a Store, Range<u64>),
    /// Another process fetches some of the leaves.
    Busy,
    /// Locks cannot be had.
    Useless,
}

impl Drop for LeafLock<'_> {
    fn drop(&mut self) {
        if let Self::Held(store, leaves) = self {
            range_locks::unlock(&store.leaves, leaves);
        }
    }
}

/// Makes an object's directory and locks it against removal; also returns whether it can be
/// written.
fn hold(dir: &Path) -> Result<(File, bool)> {
    let io = |error| Error::io("cannot use the cache", error).path(dir);
    loop {
        let made = files::make_private_dir(dir);
        require_own(dir)?;
        let writes = made.is_ok() && open_file(&dir.join("data"), true).is_ok();
        let open = open_file(&dir.join("lock"), writes).map_err(io)?;
        open.lock_shared().map_err(io)?;
        // another process may have removed it meanwhile
        if files::name_count(&open).map_err(io)? > 0 {
            return Ok((open, writes));
        }
    }
}
