//! Starts the threads that serve a FUSE mount.
//!
//! Enters an open FUSE device and an image; leaves events for the session. **Invariant:** when
//! `serve_in_background` returns, the kernel's first request has been answered.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;

use sinterfs_model::{Error, Image, Result};

use crate::fuse;
use crate::options::MountOptions;
use crate::view::View;

/// An event that ends a session.
pub(crate) enum Event {
    /// The file system ended, with the result of serving it.
    Ended(std::io::Result<()>),
    /// The process got a signal to end.
    Signal,
}

/// Does the handshake with the kernel and serves its requests with threads of their own until the
/// file system ends, which is sent as an event. Returns the number of requests, which goes on
/// counting.
pub(crate) fn serve_in_background(
    image: Arc<dyn Image>,
    device: OwnedFd,
    options: &MountOptions,
    sender: &Sender<Event>,
) -> Result<Arc<AtomicU64>> {
    let requests = Arc::new(AtomicU64::new(0));
    let view = View::new(image, options);
    let failed = |what| move |error| Error::io(what, error);
    let server = fuse::handshake(device, view, Arc::clone(&requests))
        .map_err(failed("the handshake with the kernel failed"))?;
    let on_end = sender.clone();
    let run = move || {
        // the receiver is gone if the session was dropped
        let _ = on_end.send(Event::Ended(server.run()));
    };
    let thread = std::thread::Builder::new().name("mount".into()).spawn(run);
    thread.map_err(failed("cannot start a thread"))?;
    Ok(requests)
}

/// Raises the read-ahead of a mount, since FUSE itself allows at most 128 KiB; only root may. A
/// failure is ignored: reading is only slower.
pub(crate) fn raise_read_ahead(device: &str, bytes: u32) {
    let path = format!("/sys/class/bdi/{device}/read_ahead_kb");
    let _ = std::fs::write(path, (bytes / 1024).to_string());
}

/// Returns the device of a file as `major:minor`.
pub(crate) fn device_of(file: impl AsFd) -> Option<String> {
    let device = rustix::fs::fstat(file).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Some(format!("{major}:{minor}"))
}
