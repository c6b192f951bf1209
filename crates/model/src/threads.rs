//! Threads for work that can do with fewer of them.
//!
//! Enters the number of threads that work may have; leaves the work done. **Invariant:** no function here
//! panics where the system starts no thread (`RLIMIT_NPROC`, a container's limit of processes): the
//! calling thread takes part, so work is done with as few as that one. A panic in a thread is a panic of
//! the caller. `clippy.toml` disallows the functions of `std` that panic instead.

use std::panic::resume_unwind;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::{Error, Result};

/// Starts a thread with a name in a scope. `Io` where the system starts none.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    Builder::new()
        .name(name.to_owned())
        .spawn_scoped(scope, work)
        .map_err(|error| Error::io("cannot start a thread", error))
}

/// Calls `work` on each of `threads` threads, of which the calling one is the last, or on fewer where the
/// system starts no more. The calls divide what there is to do among themselves.
pub fn share(threads: usize, name: &str, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        let work = &work;
        for _ in 1..threads {
            if spawn(scope, name, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// Returns what two functions return, called at once if there may be two threads and the system starts
/// another one, or else one after the other.
pub fn both<A: Send, B>(
    threads: usize,
    name: &str,
    first: impl Fn() -> A + Sync,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if threads <= 1 {
        return (first(), second());
    }
    std::thread::scope(|scope| match spawn(scope, name, &first) {
        Ok(started) => {
            let second = second();
            let first = started.join().unwrap_or_else(|panic| resume_unwind(panic));
            (first, second)
        }
        Err(_) => (first(), second()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn work_is_called_on_so_many_threads() {
        for threads in [0, 1, 2, 5] {
            let calls = AtomicUsize::new(0);
            share(threads, "test", || {
                calls.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(calls.into_inner(), threads.max(1));
        }
    }

    #[test]
    fn both_are_called_with_one_thread_and_with_two() {
        for threads in [1, 2] {
            assert_eq!(both(threads, "test", || 1, || 2), (1, 2));
        }
    }

    #[test]
    fn a_panic_is_one_of_the_caller() {
        let caught = std::panic::catch_unwind(|| both(2, "test", || panic!("boom"), || 2));
        assert!(caught.is_err());
    }
}
