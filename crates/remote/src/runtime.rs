//! The one asynchronous runtime of a process, made for the first remote image.
//!
//! **Invariant:** callers wait on a channel or a condition variable, never inside the runtime, so
//! that reading threads and runtime threads cannot wait for each other.

use std::future::Future;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sinterfs_model::{Error, Kind, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// Threads that move bytes between sockets and memory.
const THREADS: usize = 2;

/// The runtime, and the process that it belongs to.
static CURRENT: Mutex<Option<(u32, &Runtime)>> = Mutex::new(None);

/// Returns the runtime's handle; `Io` if its threads cannot be started.
///
/// A forked child has none of its parent's threads, and gets a separate runtime. The mutex is held
/// for a moment only, so that it is most likely free in a child.
pub(crate) fn handle() -> Result<&'static Handle> {
    let process = std::process::id();
    let current = || CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let own = |(owner, runtime): (u32, &'static Runtime)| (owner == process).then_some(runtime);
    if let Some(runtime) = current().and_then(own) {
        return Ok(runtime.handle());
    }
    // fails only if a provider is already installed, which will do
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("sinterfs-remote")
        .enable_all()
        .build()
        .map_err(|error| Error::io("cannot start the threads of the network", error))?;
    let mut current = current();
    if let Some(runtime) = current.and_then(own) {
        return Ok(runtime.handle());
    }
    // a parent's runtime is never dropped: its threads are not here
    let made: &'static Runtime = Box::leak(Box::new(made));
    *current = Some((process, made));
    Ok(made.handle())
}

/// Runs work in the runtime, and returns where its result arrives.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<mpsc::Receiver<T>> {
    let (sender, receiver) = mpsc::channel();
    handle()?.spawn(async move {
        // nobody waits any more: the result is of no use
        let _ = sender.send(work.await);
    });
    Ok(receiver)
}

/// The interval at which waiting threads check whether to stop.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// Waits for the result of work; fails with `Cancelled` if `stop` says so.
pub(crate) fn wait<T>(receiver: &mpsc::Receiver<T>, stop: fn() -> bool) -> Result<T> {
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) if stop() => return Err(stopped()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new(Kind::Io, "a request ended without an answer"));
            }
        }
    }
}

/// The time that stopped work may take to remove an upload that it has begun on a server.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// Waits for the result of work that ends by itself when `stop` returns true; an upload that it has
/// begun is removed then, within [`GRACE`].
pub(crate) fn wait_for_end<T>(receiver: &mpsc::Receiver<T>, stop: fn() -> bool) -> Result<T> {
    match wait(receiver, stop) {
        Err(error) if error.kind() == Kind::Cancelled => {
            receiver.recv_timeout(GRACE + LOOK).map_err(|_| error)
        }
        ended => ended,
    }
}

/// Does work until `stop` returns true; `None` then.
pub(crate) async fn until_stopped<T>(
    stop: fn() -> bool,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(LOOK, &mut work).await {
            Ok(done) => return Some(done),
            Err(_) if stop() => return None,
            Err(_) => {}
        }
    }
}

/// Returns the error of work that was stopped on request.
pub(crate) fn stopped() -> Error {
    Error::new(Kind::Cancelled, "stopped on request")
}
