//! Threads that have nothing to do, for work that can be shared.
//!
//! Enters how many of a build's threads are idle; leaves permission to run as many others in their place.
//! **Invariant:** what is worked out depends neither on the permissions nor on their number.

use std::sync::atomic::{AtomicIsize, Ordering};

/// Counts idle threads; others may run in their place until they are back.
#[derive(Debug, Default)]
pub struct Spare {
    /// Below zero when threads came back before those that run in their place have ended.
    idle: AtomicIsize,
}

impl Spare {
    /// Makes a count of so many idle threads.
    pub const fn new(idle: usize) -> Self {
        Self {
            idle: AtomicIsize::new(idle.cast_signed()),
        }
    }

    /// Counts the calling thread as idle while it waits in `wait`.
    pub fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let waited = wait();
        self.idle.fetch_sub(1, Ordering::Relaxed);
        waited
    }

    /// Takes the place of an idle thread, if there is one.
    pub fn take(&self) -> Option<Lease<'_>> {
        let fewer = |idle| (idle > 0).then(|| idle - 1);
        let taken = self
            .idle
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        taken.ok().map(|_| Lease { spare: self })
    }
}

/// The place of an idle thread, given back when dropped.
#[derive(Debug)]
pub struct Lease<'a> {
    spare: &'a Spare,
}

impl Lease<'_> {
    /// Tells whether the thread came back that was idle, and this one should end.
    pub fn is_wanted_back(&self) -> bool {
        self.spare.idle.load(Ordering::Relaxed) < 0
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.spare.idle.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_as_many_as_idle_threads() {
        let spare = Spare::new(1);
        let lease = spare.take().unwrap();
        assert!(spare.take().is_none());
        spare.during(|| assert!(spare.take().is_some_and(|other| !other.is_wanted_back())));
        drop(lease);
        assert!(spare.take().is_some());
        assert!(Spare::default().take().is_none());
    }

    #[test]
    fn a_place_is_wanted_back_when_its_thread_is_back() {
        let spare = Spare::default();
        let lease = spare.during(|| spare.take().unwrap());
        assert!(lease.is_wanted_back() && spare.take().is_none());
    }
}
