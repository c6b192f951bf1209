//! Requests in flight, and the threads that wait for them.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::failure::{Cause, Failure};
use crate::leaves::Leaf;
use crate::runtime::LOOK;

/// A request for leaves; any number of threads wait for one.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) leaves: Range<u64>,
    landed: Mutex<Option<Result<Arc<[Leaf]>, Failure>>>,
    ready: Condvar,
}

impl Flight {
    pub(crate) fn new(leaves: Range<u64>) -> Self {
        Self {
            leaves,
            landed: Mutex::default(),
            ready: Condvar::new(),
        }
    }

    /// Hands the result to all waiting threads.
    pub(crate) fn land(&self, result: Result<Arc<[Leaf]>, Failure>) {
        *self.landed.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.ready.notify_all();
    }

    /// Waits for a leaf of the request, until `stop` says that the work should stop.
    pub(crate) fn wait(&self, leaf: u64, stop: fn() -> bool) -> Result<Leaf, Failure> {
        let mut landed = self.landed.lock().unwrap_or_else(PoisonError::into_inner);
        while landed.is_none() {
            let waited = self.ready.wait_timeout(landed, LOOK);
            landed = waited.unwrap_or_else(PoisonError::into_inner).0;
            if landed.is_none() && stop() {
                return Err(Failure::new(Cause::Stopped, "stopped on request"));
            }
        }
        let lost = || Failure::temporary("a request ended without an answer");
        match &*landed {
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

impl Flight {
    /// Returns how the request has ended.
    pub(crate) fn result(&self) -> Result<(), Failure> {
        let landed = self.landed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*landed {
            Some(Ok(_)) => Ok(()),
            Some(Err(failure)) => Err(failure.clone()),
            None => Err(Failure::temporary("a request has not ended")),
        }
    }
}

/// Lands a request with a failure if it ends without a result, as when its task panics.
pub(crate) struct Landing(pub(crate) Arc<Flight>);

impl Drop for Landing {
    fn drop(&mut self) {
        let landed = self.0.landed.lock();
        let is_lost = landed.unwrap_or_else(PoisonError::into_inner).is_none();
        if is_lost {
            let what = "a request ended without an answer";
            self.0.land(Err(Failure::temporary(what)));
        }
    }
}
