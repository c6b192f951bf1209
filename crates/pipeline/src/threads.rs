//! Runs a stage on several threads and turns whatever ends a thread into an error.
//!
//! **Invariant:** `run` returns when all its threads have ended; a panic in one of them is an
//! error of the stage, never a hang and never a panic of the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sinterfs_model::{Error, Kind, Observer, Result};

/// Returns how many threads `0` stands for: as many as the machine runs at once.
pub(crate) fn resolve(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// Calls `work` on so many threads and returns the first error by thread number.
///
/// `work` shares what there is to do among its calls and must come to an end in all threads
/// when one of them fails.
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

/// Makes the error of a thread that panicked.
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

/// Fails when the observer wants the work to stop.
pub(crate) fn check_cancelled(observer: &dyn Observer) -> Result<()> {
    if observer.cancelled() {
        Err(cancelled())
    } else {
        Ok(())
    }
}

/// Makes the error of work that was told to stop.
#[cold]
pub(crate) fn cancelled() -> Error {
    Error::new(Kind::Cancelled, "stopped on request")
}

/// Locks, going on with the data of a thread that panicked: its panic is reported elsewhere.
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
