//! The one asynchronous runtime of the process, made for the first remote image.
//!
//! **Invariant:** callers wait on a channel or a condition variable, never inside the runtime, so
//! that reading threads and those of the runtime cannot wait for each other.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc;

use sinterfs_model::{Error, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// Threads that move bytes between sockets and memory.
const THREADS: usize = 2;

/// Returns the runtime's handle; `Io` if its threads cannot be started.
pub(crate) fn handle() -> Result<&'static Handle> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        // fails only if a provider is already installed, which will do
        let _ = rustls::crypto::ring::default_provider().install_default();
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("sinterfs-remote")
            .enable_all()
            .build()
    });
    match runtime {
        Ok(runtime) => Ok(runtime.handle()),
        Err(error) => {
            let copy = std::io::Error::new(error.kind(), error.to_string());
            Err(Error::io("cannot start the threads of the network", copy))
        }
    }
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

/// Waits for the result of work.
pub(crate) fn wait<T>(receiver: &mpsc::Receiver<T>) -> Result<T> {
    let lost = |_| {
        Error::new(
            sinterfs_model::Kind::Io,
            "a request ended without an answer",
        )
    };
    receiver.recv().map_err(lost)
}
