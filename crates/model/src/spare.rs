//! What the threads of a build may take besides their own time and little memory: the time of threads
//! that have nothing to do, and rooms for what takes much memory.
//!
//! Enters how many threads are idle and how many rooms there are; leaves permission to run in the
//! idle ones' place, or to stay in a room.
//! **Invariant:** what is worked out depends neither on the permissions nor on their number.

use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Counts idle threads, in whose place others may run until they are back, and free rooms.
#[derive(Debug)]
pub struct Spare {
    /// Below zero when threads came back before those that run in their place have ended.
    idle: AtomicIsize,
    /// Rooms that nobody is in.
    rooms: Mutex<usize>,
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
    /// Tells how many rooms so many threads can fill.
    pub fn rooms(self, threads: usize) -> usize {
        threads.div_ceil(self.threads.max(1)).max(1)
    }
}

impl Default for Spare {
    /// No idle threads, and room for everybody.
    fn default() -> Self {
        Self::new(0, usize::MAX)
    }
}

impl Spare {
    /// Makes a count of so many idle threads and free rooms.
    pub const fn new(idle: usize, rooms: usize) -> Self {
        Self {
            idle: AtomicIsize::new(idle.cast_signed()),
            rooms: Mutex::new(rooms),
            left: Condvar::new(),
        }
    }

    /// Waits for a room; others may run in the calling thread's place meanwhile. Who is in a room must
    /// not wait for another one.
    pub fn room(&self) -> Room<'_> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if *rooms == 0 {
            rooms = self.during(|| {
                let waited = self.left.wait_while(rooms, |rooms| *rooms == 0);
                waited.unwrap_or_else(PoisonError::into_inner)
            });
        }
        *rooms -= 1;
        Room { spare: self }
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

/// A room that is taken, given back when dropped.
#[derive(Debug)]
pub struct Room<'a> {
    spare: &'a Spare,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let rooms = &self.spare.rooms;
        *rooms.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.spare.left.notify_one();
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
        let spare = Spare::new(0, 1);
        let room = spare.room();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(spare.room()));
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
        drop(spare.room());
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
