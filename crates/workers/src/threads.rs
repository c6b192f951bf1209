//! Starts threads for work that can do with fewer of them.
//!
//! Enters the number of threads that the work may use; leaves the work done. **Invariant:** no
//! function here panics where the system starts no thread (`RLIMIT_NPROC`, the limit of a
//! container): the calling thread takes part, so one thread is enough. A panic in a thread is a
//! panic of the caller. `clippy.toml` disallows the functions of `std` that panic instead.

use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Resolves a requested number of threads: zero means the number of processors.
pub fn thread_count(requested: usize) -> usize {
    match requested {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}

/// Starts a named thread in a scope.
///
/// # Errors
/// That of the system if it starts none.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let builder = Builder::new().name(name.to_owned());
    builder.spawn_scoped(scope, work)
}

/// Calls `work` once on each of `threads` threads, one of which is the calling thread; on fewer if
/// the system starts no more. The calls divide the work among themselves.
pub fn run(threads: usize, name: &str, work: impl Fn() + Sync) {
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

/// Calls two functions and returns both results: at once if `threads` is above one and the system
/// starts a thread for the first, else one after the other.
pub fn join<A: Send, B>(
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
    fn work_is_called_once_per_thread() {
        for threads in [0, 1, 2, 5] {
            let calls = AtomicUsize::new(0);
            run(threads, "test", || {
                calls.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(calls.into_inner(), threads.max(1));
        }
    }

    #[test]
    fn both_functions_are_called_with_one_thread_and_with_two() {
        for threads in [1, 2] {
            assert_eq!(join(threads, "test", || 1, || 2), (1, 2));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| join(2, "test", || panic!("boom"), || 2));
        assert!(caught.is_err());
    }
}
