//! A thread that does something from time to time while an image is served.
//!
//! In: the work and its pauses. Out: a value that ends the thread when it is dropped.
//! **Invariant:** the work runs once more, for the last time, before the drop returns.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use sinterfs_model::{Error, Result};

/// The thread.
#[derive(Debug)]
pub(super) struct Ticker {
    work: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Ticker {
    /// Starts the thread, which works after a first pause. `tick` gets whether this is the last
    /// time, and returns the next pause.
    pub(super) fn start(
        name: &str,
        first: Duration,
        mut tick: impl FnMut(bool) -> Duration + Send + 'static,
    ) -> Result<Self> {
        let (end, ended) = channel::<()>();
        let work = move || {
            let mut pause = first;
            loop {
                let is_last = ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
                pause = tick(is_last);
                if is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(work);
        let thread = thread.map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(Self {
            work: Some((end, thread)),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.work.take() {
            drop(end);
            // a panic in there has been printed to standard error
            let _ = thread.join();
        }
    }
}
