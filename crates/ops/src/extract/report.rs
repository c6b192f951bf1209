//! Counts of an extraction.

use std::sync::Mutex;

use super::lock::lock;

/// The counts of an extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExtractReport {
    /// Directories made or merged.
    pub directories: u64,
    /// Regular files written.
    pub files: u64,
    /// Further names of files.
    pub links: u64,
    /// Symlinks made.
    pub symlinks: u64,
    /// Devices, fifos and sockets made.
    pub specials: u64,
    /// Bytes of data written.
    pub bytes: u64,
    /// Entries that were there and stayed as they were.
    pub kept: u64,
    /// Entries that could not be restored; each was reported to the observer.
    pub failed: u64,
    /// Files of which parts could not be read; each was reported to the observer.
    pub damaged: u64,
    /// Entries restored without some of their metadata; each was reported to the observer.
    pub imperfect: u64,
}

/// The report while it grows.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<ExtractReport>);

impl Counts {
    pub(crate) fn add(&self, change: impl FnOnce(&mut ExtractReport)) {
        change(&mut lock(&self.0));
    }

    pub(crate) fn report(&self) -> ExtractReport {
        *lock(&self.0)
    }
}
