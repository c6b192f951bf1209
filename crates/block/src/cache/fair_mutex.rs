//! A lock that a waiting thread gets before the one that gave it up.
//!
//! In: a value. Out: the value, for one thread at a time. **Invariant:** the thread that is to have
//! the value next holds `next` until it has it, and nobody takes the value without `next`, so that
//! whoever unlocks and locks again waits for that thread. The locks of the standard library may go
//! to the thread that gave them up as often as it asks.

use crate::locks::{Mutex, MutexGuard};

/// A value, and the turn to have it next.
pub(super) struct FairMutex<T> {
    next: Mutex<()>,
    value: Mutex<T>,
}

impl<T> FairMutex<T> {
    pub(super) fn new(value: T) -> Self {
        Self {
            next: Mutex::new(()),
            value: Mutex::new(value),
        }
    }

    /// Waits for the value, after the thread that is already waiting.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        let _next = self.next.lock();
        self.value.lock()
    }

    /// Returns `None` if another thread holds the lock or waits for it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let _next = self.next.try_lock()?;
        self.value.try_lock()
    }

    /// Unlocks for a waiting thread, if there is one, and locks again after it.
    pub(super) fn hand_over<'a>(&'a self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        drop(held);
        self.lock()
    }
}
