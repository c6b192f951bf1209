//! Permits that the threads of a build share: to run in place of an idle worker, and to use large
//! memory.
//!
//! Enters the number of idle workers and the bytes of content that large memory is for; leaves
//! permits, returned when dropped. **Invariant:** results depend neither on the permits nor on
//! their number.

use crate::sync::{AtomicIsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError};

/// Counts idle workers, in whose place helpers may run until they are back, and memory in use.
#[derive(Debug)]
pub struct WorkerPermits {
    /// Below zero if workers came back before their helpers ended.
    idle: AtomicIsize,
    /// Bytes of content that all memory permits are for.
    capacity: u64,
    /// The part of `capacity` that is not reserved.
    free: Mutex<u64>,
    released: Condvar,
}

/// The needs of a piece of work while it holds a memory permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeeds {
    /// The bytes of memory that it uses at most.
    pub bytes: u64,
    /// The number of threads, at least one, that can share the work.
    pub threads: usize,
}

impl MemoryNeeds {
    /// Returns the number of permits that keep `threads` threads busy; at least one.
    pub fn permits(self, threads: usize) -> usize {
        threads.div_ceil(self.threads.max(1)).max(1)
    }
}

impl Default for WorkerPermits {
    /// No idle workers, and memory without a limit.
    fn default() -> Self {
        Self::new(0, u64::MAX)
    }
}

impl WorkerPermits {
    /// Makes permits for `idle` idle workers, and for large memory for `capacity` bytes of content
    /// in all.
    pub const fn new(idle: usize, capacity: u64) -> Self {
        Self {
            idle: AtomicIsize::new(idle.cast_signed()),
            capacity,
            free: Mutex::new(capacity),
            released: Condvar::new(),
        }
    }

    /// Waits for a permit to use large memory for `len` bytes of content, or for the whole capacity
    /// if that is less. The calling thread counts as idle while it waits; it must not hold another
    /// memory permit.
    pub fn reserve_memory(&self, len: u64) -> MemoryPermit<'_> {
        let len = len.min(self.capacity);
        let mut free = self.lock_free();
        if *free < len {
            free = self.while_idle(|| {
                let waited = self.released.wait_while(free, |free| *free < len);
                waited.unwrap_or_else(PoisonError::into_inner)
            });
        }
        *free -= len;
        MemoryPermit { permits: self, len }
    }

    /// Calls `wait` and counts the calling worker as idle meanwhile.
    pub fn while_idle<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let waited = wait();
        self.idle.fetch_sub(1, Ordering::Relaxed);
        waited
    }

    /// Counts the calling worker as idle from now on, since it ends.
    pub fn retire(&self) {
        self.idle.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the permit of an idle worker, if there is one.
    pub fn try_take(&self) -> Option<WorkerPermit<'_>> {
        let fewer = |idle| (idle > 0).then(|| idle - 1);
        let taken = self
            .idle
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        taken.ok().map(|_| WorkerPermit { permits: self })
    }

    fn lock_free(&self) -> MutexGuard<'_, u64> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permission to run in place of an idle worker; returned when dropped.
#[derive(Debug)]
pub struct WorkerPermit<'a> {
    permits: &'a WorkerPermits,
}

impl WorkerPermit<'_> {
    /// Returns whether the idle worker came back, so that the holder should end.
    pub fn is_recalled(&self) -> bool {
        self.permits.idle.load(Ordering::Relaxed) < 0
    }
}

impl Drop for WorkerPermit<'_> {
    fn drop(&mut self) {
        self.permits.idle.fetch_add(1, Ordering::Relaxed);
    }
}

/// Permission to use large memory; returned when dropped.
#[derive(Debug)]
pub struct MemoryPermit<'a> {
    permits: &'a WorkerPermits,
    len: u64,
}

impl Drop for MemoryPermit<'_> {
    fn drop(&mut self) {
        *self.permits.lock_free() += self.len;
        // it may be enough for several waiting threads, or only for the last of them
        self.permits.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_permits_as_idle_workers() {
        let permits = WorkerPermits::new(1, 0);
        let permit = permits.try_take().unwrap();
        assert!(permits.try_take().is_none());
        permits
            .while_idle(|| assert!(permits.try_take().is_some_and(|other| !other.is_recalled())));
        drop(permit);
        assert!(permits.try_take().is_some());
        assert!(WorkerPermits::default().try_take().is_none());
    }

    #[test]
    fn a_permit_is_recalled_when_its_worker_is_back() {
        let permits = WorkerPermits::default();
        let permit = permits.while_idle(|| permits.try_take().unwrap());
        assert!(permit.is_recalled() && permits.try_take().is_none());
    }

    #[test]
    fn a_thread_that_waits_for_memory_is_idle() {
        let permits = WorkerPermits::new(0, 10);
        let memory = permits.reserve_memory(100);
        std::thread::scope(|scope| {
            let wait = || drop(permits.reserve_memory(1));
            let waiting = crate::spawn(scope, "wait", wait).unwrap();
            let permit = loop {
                match permits.try_take() {
                    Some(permit) => break permit,
                    None => std::thread::yield_now(),
                }
            };
            assert!(!permit.is_recalled() && !waiting.is_finished());
            drop(permit);
            drop(memory);
        });
        assert!(permits.try_take().is_none());
        drop(permits.reserve_memory(10));
    }

    #[test]
    fn small_reservations_are_granted_at_once() {
        let permits = WorkerPermits::new(0, 10);
        let held = [4, 5, 1].map(|len| permits.reserve_memory(len));
        drop(held);
        drop(permits.reserve_memory(10));
    }

    #[test]
    fn permits_are_enough_to_keep_all_threads_busy() {
        let needs = MemoryNeeds {
            bytes: 1,
            threads: 4,
        };
        assert_eq!(
            [1, 4, 5, 16].map(|threads| needs.permits(threads)),
            [1, 1, 2, 4]
        );
    }
}
