//! What the threads of a build may take besides their own time and little memory: the time of threads
//! that have nothing to do, and space for what takes much memory.
//!
//! Enters how many threads are idle and how much content there is space for; leaves permission to run in
//! the idle ones' place, or to stay in a room of that space.
//! **Invariant:** what is worked out depends neither on the permissions nor on their number.

use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Counts idle threads, in whose place others may run until they are back, and free space.
#[derive(Debug)]
pub struct Spare {
    /// Below zero when threads came back before those that run in their place have ended.
    idle: AtomicIsize,
    /// Bytes of content that all rooms are for.
    space: u64,
    /// Those that no room was made of.
    free: Mutex<u64>,
    left: Condvar,
}

/// What work needs that is done in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomNeeds {
    /// The bytes of memory that it takes at most.
    pub bytes: u64,
    /// How many threads share the work well, itself among them; at least one.
    pub threads: usize,
}

impl RoomNeeds {
    /// Returns how many such rooms so many threads can fill.
    pub fn rooms(self, threads: usize) -> usize {
        threads.div_ceil(self.threads.max(1)).max(1)
    }
}

impl Default for Spare {
    /// No idle threads, and space for everybody.
    fn default() -> Self {
        Self::new(0, u64::MAX)
    }
}

impl Spare {
    /// Makes a count of so many idle threads, with rooms for so many bytes of content together.
    pub const fn new(idle: usize, space: u64) -> Self {
        Self {
            idle: AtomicIsize::new(idle.cast_signed()),
            space,
            free: Mutex::new(space),
            left: Condvar::new(),
        }
    }

    /// Waits for a room for `len` bytes of content, or for all the space there is if they are more; others
    /// may run in the calling thread's place meanwhile. Who is in a room must not wait for another one.
    pub fn room(&self, len: u64) -> Room<'_> {
        let len = len.min(self.space);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if *free < len {
            free = self.during(|| {
                let waited = self.left.wait_while(free, |free| *free < len);
                waited.unwrap_or_else(PoisonError::into_inner)
            });
        }
        *free -= len;
        Room { spare: self, len }
    }

    /// Counts the calling thread as idle while it waits in `wait`.
    pub fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let waited = wait();
        self.idle.fetch_sub(1, Ordering::Relaxed);
        waited
    }

    /// Counts the calling thread as idle for good: it ends.
    pub fn end(&self) {
        self.idle.fetch_add(1, Ordering::Relaxed);
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
    /// Returns whether the thread came back that was idle, and this one should end.
    pub fn is_wanted_back(&self) -> bool {
        self.spare.idle.load(Ordering::Relaxed) < 0
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.spare.idle.fetch_add(1, Ordering::Relaxed);
    }
}

/// A room that is taken, given back when dropped.
#[derive(Debug)]
pub struct Room<'a> {
    spare: &'a Spare,
    len: u64,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let free = &self.spare.free;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += self.len;
        // it may be enough for several, or only for the last one that came
        self.spare.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_as_many_as_idle_threads() {
        let spare = Spare::new(1, 0);
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

    #[test]
    fn who_waits_for_a_room_is_idle() {
        let spare = Spare::new(0, 10);
        let room = spare.room(100);
        std::thread::scope(|scope| {
            let waiting = crate::threads::spawn(scope, "wait", || drop(spare.room(1))).unwrap();
            let lease = loop {
                match spare.take() {
                    Some(lease) => break lease,
                    None => std::thread::yield_now(),
                }
            };
            assert!(!lease.is_wanted_back() && !waiting.is_finished());
            drop(lease);
            drop(room);
        });
        assert!(spare.take().is_none());
        drop(spare.room(10));
    }

    #[test]
    fn small_rooms_are_beside_each_other() {
        let spare = Spare::new(0, 10);
        let rooms = [spare.room(4), spare.room(5), spare.room(1)];
        drop(rooms);
        drop(spare.room(10));
    }

    #[test]
    fn rooms_are_as_many_as_threads_fill() {
        let needs = RoomNeeds {
            bytes: 1,
            threads: 4,
        };
        assert_eq!(
            [1, 4, 5, 16].map(|threads| needs.rooms(threads)),
            [1, 1, 2, 4]
        );
    }
}
