//! When more of a block is decoded than somebody needs, and by how many at once.
//!
//! In: how long readers wait for decoders. Out: whether it is worth working ahead of them; turns
//! for those who do. **Invariant:** one short wait is no reason: who reads a little is not made to
//! pay for a whole block. Nobody holds a turn and waits for another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Who waited for so long within the last moments is likely to go on.
const ENOUGH: Duration = Duration::from_millis(100);

/// After so long a wait counts half.
const HALF: Duration = Duration::from_secs(1);

/// Decides whether to work ahead.
pub(super) struct Ahead {
    wanted: AtomicBool,
    waited: Mutex<Waited>,
}

/// How long readers have waited, older waits counting less.
struct Waited {
    seconds: f64,
    at: Instant,
}

impl Ahead {
    pub(super) fn new() -> Self {
        let (seconds, at) = (0.0, Instant::now());
        Self {
            wanted: AtomicBool::new(false),
            waited: Mutex::new(Waited { seconds, at }),
        }
    }

    pub(super) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Starts to measure a wait, where that is of use.
    pub(super) fn start(&self) -> Option<Instant> {
        let wanted = self.wanted.load(Ordering::Relaxed);
        wanted.then(Instant::now)
    }

    /// Ends a wait; tells whether readers waited enough.
    pub(super) fn is_worth_it(&self, start: Option<Instant>) -> bool {
        start.is_some_and(|start| self.waited.lock().add(start, Instant::now()))
    }
}

impl Waited {
    fn add(&mut self, start: Instant, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.at).as_secs_f64() / HALF.as_secs_f64();
        let wait = now.saturating_duration_since(start).as_secs_f64();
        self.seconds = self.seconds * (-age).exp2() + wait;
        self.at = now;
        self.seconds >= ENOUGH.as_secs_f64()
    }
}

/// Lets so many work at once.
pub(super) struct Turns {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Turns {
    /// Leaves a processor to those who read.
    pub(super) fn beside_readers() -> Self {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            free: Mutex::new(all.saturating_sub(1).max(1)),
            freed: Condvar::new(),
        }
    }

    /// Does work when it is its turn.
    pub(super) fn take(&self, work: impl FnOnce()) {
        let mut free = self.free.lock();
        while *free == 0 {
            self.freed.wait(&mut free);
        }
        *free = free.saturating_sub(1);
        drop(free);
        let _turn = Turn(self);
        work();
    }
}

/// A turn, given back however the work ends.
struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
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
        // long ago by now
        assert!(!wait(5000, 60));
        assert!(wait(5100, 60));
        assert!(!wait(20_000, 60));
        assert!(wait(30_000, 100));
    }

    #[test]
    fn waits_count_only_where_that_is_wanted() {
        let ahead = Ahead::new();
        assert!(ahead.start().is_none() && !ahead.is_worth_it(None));
        ahead.want();
        assert!(ahead.is_worth_it(Instant::now().checked_sub(ENOUGH)));
    }
}
