//! Counts what went into an archive, and what did not.

use std::sync::{Mutex, PoisonError};

use sinterfs_model::Loss;

/// The counts of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ArchiveReport {
    /// Directories.
    pub directories: u64,
    /// Regular files.
    pub files: u64,
    /// Further names of files.
    pub links: u64,
    /// Symlinks.
    pub symlinks: u64,
    /// Devices, fifos and sockets.
    pub specials: u64,
    /// Bytes of data, without holes.
    pub bytes: u64,
    /// Bytes of the archive.
    pub length: u64,
    /// Entries that could not be read, wholly or in part; each was reported to the observer.
    pub failed: u64,
    /// What the kind of archive does not keep.
    pub losses: Vec<Loss>,
}

/// The report while it grows.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<ArchiveReport>);

impl Counts {
    pub(super) fn add(&self, change: impl FnOnce(&mut ArchiveReport)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts one more that is not kept.
    pub(super) fn lose(&self, what: &'static str) {
        self.add(|report| {
            let known = report.losses.iter_mut().find(|loss| loss.what == what);
            match known {
                Some(loss) => loss.count += 1,
                None => report.losses.push(Loss::new(what, 1)),
            }
        });
    }

    pub(super) fn report(&self) -> ArchiveReport {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
