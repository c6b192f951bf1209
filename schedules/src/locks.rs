//! The locks of `crates/block/src/locks.rs`, on those of shuttle. And a clock that advances when it
//! is read.

use std::time::Duration;

pub(crate) use shuttle::sync::MutexGuard;
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use shuttle::thread;

/// A lock.
#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("a panic ends the test")
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// A condition.
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(shuttle::sync::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(held).expect("a panic ends the test")
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }
}

/// A value that is set once. No thread waits for it, so that of `std` serves; at the atomic before
/// each use others may run. (That a thread yields would tell the scheduler to prefer others.)
pub(crate) struct OnceLock<T>(std::sync::OnceLock<T>, AtomicBool);

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self(std::sync::OnceLock::new(), AtomicBool::new(false))
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.1.load(Ordering::SeqCst);
        self.0.get()
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        self.1.load(Ordering::SeqCst);
        self.0.set(value)
    }
}

/// A time: each look at the clock is a quarter of a second later than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(crate) fn now() -> Self {
        static LOOKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let looks = LOOKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self(Duration::from_millis(250 * looks))
    }

    pub(crate) fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
