//! Numbered work on several threads, its results consumed in order by one.
//!
//! In: a count, the work for a number, and the consumer of results. Out: the first error by number.
//! **Invariant:** results are consumed in order for any number of threads; at most `threads +
//! SPARE` numbers are in progress; every wait ends when the other side has ended; a panic is an
//! error.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sinterfs_model::{Error, Observer, Result};
use sinterfs_workers::WorkerPermits;

/// The number of results that may wait to be consumed, so that threads need not wait.
const SPARE: u32 = 2;

/// The interval at which the consumer polls for cancellation.
const POLL: Duration = Duration::from_millis(100);

struct PipelineState<T> {
    /// The next number to begin.
    next: u32,
    /// The results below this number were consumed.
    taken: u32,
    done: BTreeMap<u32, Result<T>>,
    stopped: bool,
}

struct Shared<T> {
    state: Mutex<PipelineState<T>>,
    room: Condvar,
    ready: Condvar,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, PipelineState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next number; `None` if no work is left.
    fn begin(&self, count: u32, ahead: u32, permits: &WorkerPermits) -> Option<u32> {
        let mut state = self.lock();
        loop {
            if state.stopped || state.next >= count {
                return None;
            }
            if state.next.saturating_sub(state.taken) < ahead {
                let number = state.next;
                state.next = number.saturating_add(1);
                return Some(number);
            }
            let wait = || self.room.wait(state);
            state = permits
                .while_idle(wait)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self, number: u32, result: Result<T>) {
        self.lock().done.insert(number, result);
        self.ready.notify_one();
    }

    /// Waits for a number's result.
    fn take(&self, number: u32, observer: &dyn Observer) -> Result<T> {
        let mut state = self.lock();
        loop {
            observer.check_cancelled()?;
            if let Some(result) = state.done.remove(&number) {
                state.taken = number.saturating_add(1);
                drop(state);
                self.room.notify_all();
                return result;
            }
            let wait = self.ready.wait_timeout(state, POLL);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Stops all threads when dropped, on success, error or panic of the consumer.
struct Stop<'a, T>(&'a Shared<T>);

impl<T> Drop for Stop<'_, T> {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.room.notify_all();
    }
}

/// Calls `work` for the numbers below `count` on `threads` threads (above 0), and `take` with each
/// result, in order and on the caller's thread. Waiting threads are counted in `permits`.
pub(super) fn in_order<T: Send>(
    count: u32,
    threads: usize,
    permits: &WorkerPermits,
    observer: &dyn Observer,
    work: impl Fn(u32) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let threads = u32::try_from(threads).unwrap_or(u32::MAX).min(count);
    let ahead = threads.saturating_add(SPARE);
    let shared = Shared {
        state: Mutex::new(PipelineState {
            next: 0,
            taken: 0,
            done: BTreeMap::new(),
            stopped: false,
        }),
        room: Condvar::new(),
        ready: Condvar::new(),
    };
    std::thread::scope(|scope| {
        let (shared, work) = (&shared, &work);
        let _stop = Stop(shared);
        for started in 0..threads {
            let body = move || {
                while let Some(number) = shared.begin(count, ahead, permits) {
                    let result = catch_unwind(AssertUnwindSafe(|| work(number)));
                    shared.end(number, result.unwrap_or_else(|_| Err(panicked())));
                }
                permits.retire();
            };
            match std::thread::Builder::new().spawn_scoped(scope, body) {
                Ok(_) => {}
                // the system starts no more threads: fewer do the same work
                Err(_) if started > 0 => break,
                Err(_) => return alone(count, observer, work, take),
            }
        }
        for number in 0..count {
            take(shared.take(number, observer)?)?;
        }
        Ok(())
    })
}

/// Does all the work on the caller's thread, for systems that start no other one.
fn alone<T>(
    count: u32,
    observer: &dyn Observer,
    work: impl Fn(u32) -> Result<T>,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    for number in 0..count {
        observer.check_cancelled()?;
        let result = catch_unwind(AssertUnwindSafe(|| work(number)));
        take(result.unwrap_or_else(|_| Err(panicked()))?)?;
    }
    Ok(())
}

#[cold]
fn panicked() -> Error {
    Error::invalid("a thread panicked, this is a bug")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use sinterfs_model::Quiet;

    use super::*;

    #[test]
    fn results_come_in_order_and_are_bounded() {
        let (begun, mut taken) = (AtomicU32::new(0), Vec::new());
        let work = |number: u32| {
            begun.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_micros(u64::from(number * 7919 % 300)));
            Ok(number)
        };
        in_order(200, 3, &WorkerPermits::default(), &Quiet, work, |number| {
            assert!(begun.load(Ordering::SeqCst) <= number + 1 + 3 + SPARE);
            taken.push(number);
            Ok(())
        })
        .unwrap();
        assert_eq!(taken, (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_error_by_number_ends_all() {
        let work = |number: u32| match number {
            5 => {
                std::thread::sleep(Duration::from_millis(20));
                Err(Error::corrupt("five"))
            }
            7 => Err(Error::corrupt("seven")),
            9 => panic!("nine"),
            _ => Ok(number),
        };
        let error =
            in_order(100, 4, &WorkerPermits::default(), &Quiet, work, |_| Ok(())).unwrap_err();
        assert_eq!(error.what(), "five");
        let fails = |number| {
            if number == 3 {
                Err(Error::limit("x"))
            } else {
                Ok(())
            }
        };
        assert!(in_order(1000, 2, &WorkerPermits::default(), &Quiet, Ok, fails).is_err());
        let error = in_order(
            1,
            2,
            &WorkerPermits::default(),
            &Quiet,
            |_| -> Result<u8> { panic!("boom") },
            |_| Ok(()),
        );
        assert!(error.unwrap_err().what().contains("panicked"));
        in_order(
            0,
            2,
            &WorkerPermits::default(),
            &Quiet,
            |_| Ok(()),
            |()| Err(Error::limit("x")),
        )
        .unwrap();
    }
}
