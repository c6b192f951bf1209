//! Blocks that could not be decoded, so that each file of a damaged block does not decode it again.
//!
//! In: keys of blocks, how long decoding took until it failed, and the error. Out: the error again,
//! for a time. **Invariant:** only damage is remembered, for a multiple of the time that decoding
//! took, so that what was damaged on its way here only (by a server) is tried again, and trying
//! takes at most a tenth of the time. Memory: at most `MOST` errors.

use std::collections::HashMap;
use std::time::Duration;

use sinterfs_model::{Error, Kind};

use super::shared_error::copy;
use crate::locks::{Instant, Mutex};

/// The most blocks that are remembered.
const MOST: usize = 1024;

/// What is decoded faster may be tried again at any time.
const SLOW: Duration = Duration::from_millis(1);

/// How many times as long as decoding took its failure is remembered.
const TIMES: u32 = 10;

/// Failures of blocks, by their keys.
#[derive(Default)]
pub(super) struct Failures(Mutex<HashMap<u128, DecodeFailure>>);

/// A failure, and how long it is remembered.
struct DecodeFailure {
    since: Instant,
    keep: Duration,
    error: Error,
    /// Whether the block could not even be opened: no byte of it can be read.
    at_open: bool,
}

impl DecodeFailure {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= self.keep
    }
}

impl Failures {
    /// Returns why a block could not be decoded a short time ago.
    pub(super) fn get(&self, key: u128) -> Option<Error> {
        let mut failures = self.0.lock();
        let failure = failures.get(&key)?;
        if !failure.is_over(Instant::now()) {
            return Some(copy(&failure.error));
        }
        failures.remove(&key);
        None
    }

    /// Returns why a block could not be opened a short time ago.
    pub(super) fn get_at_open(&self, key: u128) -> Option<Error> {
        let is_at_open = self.0.lock().get(&key)?.at_open;
        self.get(key).filter(|_| is_at_open)
    }

    /// Takes notice of a failure of decoding that began at `start`; returns whether it is
    /// remembered.
    pub(super) fn note(&self, key: u128, start: Instant, error: &Error, at_open: bool) -> bool {
        let now = Instant::now();
        let took = now.saturating_duration_since(start);
        if error.kind() != Kind::Corrupt || took < SLOW {
            return false;
        }
        let mut failures = self.0.lock();
        if failures.len() >= MOST {
            failures.retain(|_, failure| !failure.is_over(now));
        }
        if failures.len() >= MOST {
            return false;
        }
        let failure = DecodeFailure {
            since: now,
            keep: took.saturating_mul(TIMES),
            error: copy(error),
            at_open,
        };
        failures.insert(key, failure);
        true
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}
