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
    /// Metadata that the kind of archive does not keep.
    pub losses: Vec<Loss>,
}

impl ArchiveReport {
    /// Returns whether everything could be read, and the archive keeps every entry.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && !self.losses.iter().any(Loss::is_of_entries)
    }
}

/// The report while it grows.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<ArchiveReport>);

impl Counts {
    pub(super) fn add(&self, change: impl FnOnce(&mut ArchiveReport)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts one more that is not kept of all entries.
    pub(super) fn lose(&self, what: &'static str) {
        self.merge(Loss::new(what, 1));
    }

    /// Counts an entry, or a part of it, that is not kept, and names it.
    pub(super) fn leave_out(&self, what: &'static str, path: Vec<u8>) {
        let mut loss = Loss::entries(what);
        loss.add(|| path);
        self.merge(loss);
    }

    fn merge(&self, loss: Loss) {
        self.add(|report| {
            let known = report
                .losses
                .iter_mut()
                .find(|known| known.what == loss.what);
            match known {
                Some(known) => known.merge(loss),
                None => report.losses.push(loss),
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
