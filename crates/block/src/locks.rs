//! The primitives that threads of the cache use for waiting and counting, named in one place:
//! `schedules/` compiles the cache with others in their stead, whose order of steps a scheduler
//! decides.
//!
//! In: values. Out: locks of the standard library. **Invariant:** only the lock knows the waiting
//! threads. `parking_lot` has one table of them for the process, which a child of `fork` inherits
//! with threads that it lacks: it then waits for ever, or follows a dangling pointer, although it
//! uses none of its parent's locks.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{MutexGuard, OnceLock};
pub(crate) use std::thread;
pub(crate) use std::time::Instant;

use std::sync::PoisonError;

/// A lock without poisoning: what it guards is whole between any two steps.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `None` if another thread holds the lock.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(held) => Some(held),
            Err(std::sync::TryLockError::Poisoned(held)) => Some(held.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// A condition.
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(held).unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }
}
