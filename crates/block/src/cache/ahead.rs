//! When blocks are decoded further than readers need, and by how many threads.
//!
//! In: the time that readers wait for decoders. Out: whether to decode ahead, and permits to do so.
//! **Invariant:** one short wait is no reason: a small read does not cause the decoding of a whole
//! block. No thread waits for a permit while it holds one.

use std::time::Duration;

use sinterfs_model::Result;

use super::block::Opened;
use crate::locks::{AtomicBool, Condvar, Instant, Mutex, Ordering};

/// Recent waits of this sum start decoding ahead.
const THRESHOLD: Duration = Duration::from_millis(100);

/// The age at which a wait counts half.
const HALF_LIFE: Duration = Duration::from_secs(1);

/// The blocks of an image in their order, for decoding ahead.
pub trait NextBlocks: Send + Sync {
    /// Returns the key of the next block; the first block follows the last one. `None` for a key of
    /// no block of this image.
    fn next(&self, key: u128) -> Option<u128>;
    /// Returns whether the stored bytes of a block can be read without asking a server: what is
    /// decoded ahead is no reason to fetch.
    fn is_here(&self, key: u128) -> bool {
        let _ = key;
        true
    }
    /// Opens a block.
    fn open(&self, key: u128) -> Result<Opened>;
    /// Returns the length of the longest decoded block in bytes.
    fn block_size(&self) -> u64;
}

/// Decides whether to decode ahead.
pub(super) struct AheadPolicy {
    is_enabled: AtomicBool,
    waited: Mutex<Waited>,
}

/// The sum of the waits of readers, in which older ones count less.
struct Waited {
    seconds: f64,
    at: Instant,
}

impl AheadPolicy {
    pub(super) fn new() -> Self {
        let (seconds, at) = (0.0, Instant::now());
        Self {
            is_enabled: AtomicBool::new(false),
            waited: Mutex::new(Waited { seconds, at }),
        }
    }

    pub(super) fn enable(&self) {
        self.is_enabled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.is_enabled.load(Ordering::Relaxed)
    }

    /// Starts to measure a wait, if decoding ahead is enabled.
    pub(super) fn start(&self) -> Option<Instant> {
        self.is_enabled().then(Instant::now)
    }

    /// Ends a wait; returns whether readers waited long enough.
    pub(super) fn is_due(&self, start: Option<Instant>) -> bool {
        start.is_some_and(|start| self.waited.lock().add(start, Instant::now()))
    }
}

impl Waited {
    fn add(&mut self, start: Instant, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        let wait = now.saturating_duration_since(start).as_secs_f64();
        self.seconds = self.seconds * (-age).exp2() + wait;
        self.at = now;
        self.seconds >= THRESHOLD.as_secs_f64()
    }
}

/// Permits to decode in the background.
pub(super) struct DecodePermits {
    count: usize,
    free: Mutex<usize>,
    freed: Condvar,
}

impl DecodePermits {
    /// Makes one permit less than there are processors: one is left to readers.
    pub(super) fn leaving_one_processor() -> Self {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let count = all.saturating_sub(1).max(1);
        Self {
            count,
            free: Mutex::new(count),
            freed: Condvar::new(),
        }
    }

    /// Returns how many there are, free or not.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns how many are free.
    pub(super) fn free(&self) -> usize {
        *self.free.lock()
    }

    /// Waits for a permit and runs the work with it.
    pub(super) fn run(&self, work: impl FnOnce()) {
        let mut free = self.free.lock();
        while *free == 0 {
            free = self.freed.wait(free);
        }
        *free = free.saturating_sub(1);
        drop(free);
        let _permit = Permit(self);
        work();
    }
}

/// A permit; dropping it returns it.
struct Permit<'a>(&'a DecodePermits);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut free = self.0.free.lock();
        *free = free.saturating_add(1);
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_that_add_up_count() {
        let ms = Duration::from_millis;
        let begin = Instant::now();
        let (seconds, at) = (0.0, begin);
        let mut waited = Waited { seconds, at };
        let mut wait = |from: u64, len: u64| {
            let start = begin + ms(from);
            waited.add(start, start + ms(len))
        };
        assert!(!wait(0, 60));
        // the first wait is long ago
        assert!(!wait(5000, 60));
        assert!(wait(5100, 60));
        assert!(!wait(20_000, 60));
        assert!(wait(30_000, 100));
    }

    #[test]
    fn waits_count_only_where_that_is_wanted() {
        let ahead = AheadPolicy::new();
        assert!(ahead.start().is_none() && !ahead.is_due(None));
        ahead.enable();
        assert!(ahead.is_due(Instant::now().checked_sub(THRESHOLD)));
    }
}
