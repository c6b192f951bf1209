//! Runs jobs in order on several threads.
//!
//! **Invariant:** jobs are begun in the order of the list; after the first failure or a request
//! to stop no further job is begun, and the failure of the earliest job is the one reported.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use model::{Error, Kind, Observer, Result};

/// Resolves a number of threads: zero means as many as the machine runs at once.
pub(crate) fn thread_count(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        count => count.min(1024),
    }
}

/// Runs all jobs; each thread has a state of its own, buffers for example.
pub(crate) fn run<J: Sync, S>(
    threads: usize,
    jobs: &[J],
    observer: &dyn Observer,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &J) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let labour = || {
        let mut state = state();
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { break };
            let done = match observer.cancelled() {
                true => Err(Error::new(Kind::Cancelled, "stopped on request")),
                false => work(&mut state, job),
            };
            if let Err(error) = done {
                stop.store(true, Ordering::Relaxed);
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                if failure.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                    *failure = Some((index, error));
                }
            }
        }
    };
    let threads = thread_count(threads).min(jobs.len());
    if threads <= 1 {
        labour();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(labour);
            }
        });
    }
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))
}
