//! Calls that fail: the n-th one, for every n.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts calls, of which one fails; clones count together.
#[derive(Debug, Clone)]
pub struct Fault {
    calls: Arc<AtomicUsize>,
    fails_at: usize,
}

impl Fault {
    /// Makes the n-th call fail, counted from 1.
    pub fn at(n: usize) -> Self {
        Self {
            calls: Arc::default(),
            fails_at: n,
        }
    }

    /// Makes no call fail.
    pub fn never() -> Self {
        Self::at(0)
    }

    /// Counts a call.
    ///
    /// # Errors
    /// `EIO` for the one that fails.
    pub fn call(&self) -> io::Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) + 1 == self.fails_at {
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }

    /// Returns whether a call has failed.
    pub fn happened(&self) -> bool {
        (1..=self.calls.load(Ordering::Relaxed)).contains(&self.fails_at)
    }
}

/// Runs work with a fault at its first call, at its second, and so on, until none happens; returns
/// how many did.
pub fn at_every_call(mut work: impl FnMut(&Fault)) -> usize {
    let mut n = 1;
    loop {
        let fault = Fault::at(n);
        work(&fault);
        if !fault.happened() {
            return n - 1;
        }
        n += 1;
    }
}
