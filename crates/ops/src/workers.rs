//! Runs jobs on several threads, each in a separate part of the image.
//!
//! A run of jobs that read the same block is a queue: were it spread over the threads, all of them
//! would wait for one block to be decoded.
//!
//! **Invariant:** queues, and the jobs of a queue, are begun in the order of the list; a thread
//! helps in another's queue only when no queue is left. After the first failure or a request to
//! stop no further job is begun, and the failure of the earliest failed job is reported.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use sinterfs_model::{Error, Observer, Result};

/// Resolves a number of threads: zero means the number of processors.
pub(crate) fn thread_count(asked: usize) -> usize {
    sinterfs_workers::thread_count(asked).min(1024)
}

/// Jobs that belong together.
struct JobQueue {
    jobs: Range<usize>,
    begun: AtomicUsize,
}

impl JobQueue {
    /// Takes the next job.
    fn next(&self) -> Option<usize> {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        let index = self.jobs.start.checked_add(begun)?;
        self.jobs.contains(&index).then_some(index)
    }
}

/// All queues, and how many have been taken by a thread.
struct JobQueues {
    queues: Vec<JobQueue>,
    taken: AtomicUsize,
}

impl JobQueues {
    fn new<J>(jobs: &[J], same_queue: impl Fn(&J, &J) -> bool) -> Self {
        let mut start = 0;
        let queue = |run: &[J]| {
            let jobs = start..start + run.len();
            start = jobs.end;
            JobQueue {
                jobs,
                begun: AtomicUsize::new(0),
            }
        };
        Self {
            queues: jobs.chunk_by(same_queue).map(queue).collect(),
            taken: AtomicUsize::new(0),
        }
    }

    /// Takes the next job of a thread's queue, or of the queue that it continues with.
    fn next<'a>(&'a self, own: &mut Option<&'a JobQueue>) -> Option<usize> {
        loop {
            if let Some(index) = own.and_then(JobQueue::next) {
                return Some(index);
            }
            let taken = self.taken.fetch_add(1, Ordering::Relaxed);
            *own = self.queues.get(taken);
            if own.is_none() {
                return self.queues.iter().find_map(|queue| {
                    *own = Some(queue);
                    queue.next()
                });
            }
        }
    }
}

/// Runs all jobs; each thread has its own state, such as buffers. Neighbours of which `same_queue`
/// is true are best run by one thread.
pub(crate) fn run<J: Sync, S>(
    threads: usize,
    jobs: &[J],
    same_queue: impl Fn(&J, &J) -> bool,
    observer: &dyn Observer,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &J) -> Result<()> + Sync,
) -> Result<()> {
    let queues = JobQueues::new(jobs, same_queue);
    let stop = AtomicBool::new(false);
    let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let labour = || {
        let (mut state, mut queue) = (state(), None);
        while !stop.load(Ordering::Relaxed) {
            let Some(index) = queues.next(&mut queue) else {
                break;
            };
            let Some(job) = jobs.get(index) else { break };
            let done = observer
                .check_cancelled()
                .and_then(|()| work(&mut state, job));
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
    sinterfs_workers::run(threads, "work", labour);
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use sinterfs_model::Quiet;

    use super::*;

    #[test]
    fn every_job_is_run_once_and_queues_in_order() {
        let jobs: Vec<(u8, usize)> = (0..500).map(|i| ((i / 70) as u8, i)).collect();
        for threads in [1, 2, 3, 7, 40] {
            let seen = Mutex::new(Vec::new());
            let begun = |_: &mut (), job: &(u8, usize)| {
                seen.lock().unwrap().push(*job);
                Ok(())
            };
            run(threads, &jobs, |a, b| a.0 == b.0, &Quiet, || (), begun).unwrap();
            let mut seen = seen.into_inner().unwrap();
            if threads == 1 {
                assert_eq!(seen, jobs);
            }
            seen.sort_unstable();
            assert_eq!(seen, jobs);
        }
    }

    #[test]
    fn two_threads_begin_with_two_queues() {
        let jobs = ['a', 'a', 'a', 'b', 'b', 'b'];
        let (both, first) = (std::sync::Barrier::new(2), Mutex::new(Vec::new()));
        let begun = |fresh: &mut bool, job: &char| {
            if std::mem::take(fresh) {
                first.lock().unwrap().push(*job);
                // no thread continues before both have begun
                both.wait();
            }
            Ok(())
        };
        run(2, &jobs, |a, b| a == b, &Quiet, || true, begun).unwrap();
        let mut first = first.into_inner().unwrap();
        first.sort_unstable();
        assert_eq!(first, ['a', 'b']);
    }

    #[test]
    fn after_a_failure_nothing_is_begun() {
        let jobs: Vec<usize> = (0..100).collect();
        let count = AtomicUsize::new(0);
        let done = run(
            1,
            &jobs,
            |_, _| true,
            &Quiet,
            || (),
            |(), job| {
                count.fetch_add(1, Ordering::Relaxed);
                match job {
                    7 => Err(Error::corrupt("seven")),
                    _ => Ok(()),
                }
            },
        );
        assert_eq!(done.unwrap_err().what(), "seven");
        assert_eq!(count.into_inner(), 8);
    }
}
