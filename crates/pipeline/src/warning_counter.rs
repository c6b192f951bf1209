//! An observer that counts the warnings it passes on.

use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{Error, Observer, Stage, Tally};

/// Passes everything on to another observer and counts the warnings.
pub struct WarningCounter<'a> {
    inner: &'a dyn Observer,
    warnings: AtomicU64,
}

impl std::fmt::Debug for WarningCounter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WarningCounter")
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

impl<'a> WarningCounter<'a> {
    /// Wraps another observer.
    pub fn new(inner: &'a dyn Observer) -> Self {
        Self {
            inner,
            warnings: AtomicU64::new(0),
        }
    }

    /// Returns the number of warnings so far.
    pub fn count(&self) -> u64 {
        self.warnings.load(Ordering::Relaxed)
    }
}

impl Observer for WarningCounter<'_> {
    fn expect(&self, stage: Stage, total: Tally) {
        self.inner.expect(stage, total);
    }

    fn advance(&self, stage: Stage, done: Tally) {
        self.inner.advance(stage, done);
    }

    fn warn(&self, warning: &Error) {
        self.warnings.fetch_add(1, Ordering::Relaxed);
        self.inner.warn(warning);
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }
}
