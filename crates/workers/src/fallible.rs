//! Work of several threads that may fail or panic, which is one error of the caller.
//!
//! **Invariant:** [`run_fallible`] returns when all its threads have ended; a panic in one of them
//! becomes an error, never a hang and never a panic of the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::threads::spawn;

/// An error that a panic of a thread can become.
pub trait FromPanic {
    /// Returns the error for a panic; `what` names the thread and has the message of the panic.
    fn from_panic(what: String) -> Self;
}

#[cold]
fn panicked<E: FromPanic>(name: &str, panic: &(dyn Any + Send)) -> E {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    E::from_panic(format!("a {name} thread panicked, this is a bug: {text}"))
}

/// Calls `work` on `threads` threads and returns the first error by thread number.
///
/// The calls of `work` share the work among themselves, and all of them must return when one
/// fails.
pub fn run_fallible<E: FromPanic + Send>(
    name: &str,
    threads: usize,
    work: impl Fn() -> Result<(), E> + Sync,
) -> Result<(), E> {
    std::thread::scope(|scope| {
        let work = &work;
        let mut handles = Vec::with_capacity(threads);
        for _ in 1..threads {
            match spawn(scope, name, move || catch_panic(name, work)) {
                Ok(handle) => handles.push(handle),
                // the system is short of threads: fewer do the same work
                Err(_) => break,
            }
        }
        let mut result = catch_panic(name, work);
        for handle in handles {
            let other = handle
                .join()
                .unwrap_or_else(|panic| Err(panicked(name, &*panic)));
            result = result.and(other);
        }
        result
    })
}

/// Calls `work` and turns a panic into an error.
///
/// # Errors
/// That of `work`, or the one for a panic.
pub fn catch_panic<T, E: FromPanic>(
    name: &str,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(name, &*panic)))
}

/// Locks a mutex, ignoring poison: the panic of the other thread is reported elsewhere.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl FromPanic for String {
        fn from_panic(what: String) -> Self {
            what
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let work = || -> Result<(), String> { panic!("boom {}", 7) };
        let error = run_fallible("test", 3, work).unwrap_err();
        assert!(error.contains("boom 7"), "{error}");
    }

    #[test]
    fn all_threads_take_part() {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok::<_, String>(())
        };
        run_fallible("test", 4, work).unwrap();
        assert_eq!(count.into_inner(), 4);
    }
}
