//! Counts of an extraction, and what was reported once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Entries that this system cannot have: symlinks, special files. The first of each type was
    /// reported to the observer.
    pub impossible: u64,
    /// Entries whose names files here cannot have, restored under others; the first were reported
    /// to the observer.
    pub renamed: u64,
    /// Entries with an owner, permissions or attributes that this system does not keep; the first
    /// was reported to the observer.
    pub unkept: u64,
    /// Entries restored without some of their metadata; reported to the observer by kind.
    pub imperfect: u64,
    /// Entries that have the owner of this process, and not their own; reported to the observer by
    /// kind if the options say so.
    pub unowned: u64,
    /// Entries without their set-id bits, since they have another owner; reported to the observer
    /// by kind.
    pub without_set_id: u64,
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

/// Losses that are reported once, by kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Loss {
    Symlink,
    Special,
    Attributes,
}

/// The losses that were already reported.
#[derive(Debug, Default)]
pub(crate) struct ReportedLosses([AtomicBool; 3]);

impl ReportedLosses {
    /// Returns whether something is lost for the first time.
    pub(crate) fn first(&self, loss: Loss) -> bool {
        let [symlink, special, attributes] = &self.0;
        let reported = match loss {
            Loss::Symlink => symlink,
            Loss::Special => special,
            Loss::Attributes => attributes,
        };
        !reported.swap(true, Ordering::Relaxed)
    }
}
