//! Runs a stage on several threads and turns anything that ends a thread into an error.
//!
//! **Invariant:** `run` returns when all its threads have ended; a panic in one of them becomes an
//! error of the stage, never a hang and never a panic of the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sinterfs_model::{Error, Kind, Result};

/// Calls `work` on `threads` threads and returns the first error by thread number.
///
/// The calls of `work` share the work among themselves, and all of them must return when one
/// fails.
pub(crate) fn run(name: &str, threads: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let (name, work) = (name, &work);
        let mut handles = Vec::with_capacity(threads);
        for _ in 1..threads {
            let builder = std::thread::Builder::new().name(name.to_owned());
            match builder.spawn_scoped(scope, move || guard(name, work)) {
                Ok(handle) => handles.push(handle),
                // the system is short of threads: fewer do the same work
                Err(_) => break,
            }
        }
        let mut result = guard(name, work);
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
pub(crate) fn guard<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(name, &*panic)))
}

/// Returns the error of a thread that panicked.
#[cold]
fn panicked(name: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(
        Kind::Invalid,
        format!("a {name} thread panicked, this is a bug: {text}"),
    )
}

/// Locks a mutex, ignoring poison: the panic of the other thread is reported elsewhere.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = run("test", 3, || panic!("boom {}", 7)).unwrap_err();
        assert!(error.what().contains("boom 7"), "{error}");
    }

    #[test]
    fn all_threads_take_part() {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        };
        run("test", 4, work).unwrap();
        assert_eq!(count.into_inner(), 4);
    }
}
