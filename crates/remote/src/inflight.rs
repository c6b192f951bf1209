//! Requests in flight, and the threads that wait for them.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::failure::{Cause, Failure};
use crate::leaves::Leaf;
use crate::runtime::LOOK;

/// A request for leaves; any number of threads wait for one.
#[derive(Debug)]
pub(crate) struct Inflight {
    pub(crate) leaves: Range<u64>,
    outcome: Mutex<Option<Result<Arc<[Leaf]>, Failure>>>,
    ready: Condvar,
}

impl Inflight {
    pub(crate) fn new(leaves: Range<u64>) -> Self {
        Self {
            leaves,
            outcome: Mutex::default(),
            ready: Condvar::new(),
        }
    }

    /// Hands the result to all waiting threads.
    pub(crate) fn complete(&self, result: Result<Arc<[Leaf]>, Failure>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.ready.notify_all();
    }

    /// Waits for a leaf of the request, until `stop` says that the work should stop.
    pub(crate) fn wait(&self, leaf: u64, stop: fn() -> bool) -> Result<Leaf, Failure> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        while outcome.is_none() {
            let waited = self.ready.wait_timeout(outcome, LOOK);
            outcome = waited.unwrap_or_else(PoisonError::into_inner).0;
            if outcome.is_none() && stop() {
                return Err(Failure::new(Cause::Stopped, "stopped on request"));
            }
        }
        let lost = || Failure::temporary("a request ended without an answer");
        match &*outcome {
            Some(Ok(leaves)) => {
                let index = leaf.checked_sub(self.leaves.start);
                let index = index.and_then(|index| usize::try_from(index).ok());
                let leaf = index.and_then(|index| leaves.get(index));
                leaf.cloned().ok_or_else(lost)
            }
            Some(Err(failure)) => Err(failure.clone()),
            None => Err(lost()),
        }
    }
}

impl Inflight {
    /// Returns how the request has ended.
    pub(crate) fn result(&self) -> Result<(), Failure> {
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        match &*outcome {
            Some(Ok(_)) => Ok(()),
            Some(Err(failure)) => Err(failure.clone()),
            None => Err(Failure::temporary("a request has not ended")),
        }
    }
}

/// Lands a request with a failure if it ends without a result, as when its task panics.
pub(crate) struct CompleteOnDrop(pub(crate) Arc<Inflight>);

impl Drop for CompleteOnDrop {
    fn drop(&mut self) {
        let outcome = self.0.outcome.lock();
        let is_lost = outcome.unwrap_or_else(PoisonError::into_inner).is_none();
        if is_lost {
            let what = "a request ended without an answer";
            self.0.complete(Err(Failure::temporary(what)));
        }
    }
}
