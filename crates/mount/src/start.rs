//! Starts the threads that serve a FUSE mount.
//!
//! Enters an open FUSE device and an image; leaves events for the session. **Invariant:** when
//! `serve_in_background` returns, the kernel's first request has been answered, and all threads
//! run that answer requests: one that cannot be started is an error there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sinterfs_model::{Error, Image, Result};

use crate::fuse;
use crate::options::MountOptions;
use crate::view::View;

/// The pause between two looks at the threads of this process, and the most looks. They only decide
/// when a mount is reported.
const PAUSE: Duration = Duration::from_micros(200);
const LOOKS: usize = 10_000;

/// An event that ends a session.
pub(crate) enum Event {
    /// The file system ended, with the result of serving it.
    Ended(std::io::Result<()>),
    /// The process got a signal to end.
    Signal,
}

/// A file system that threads of this process serve.
pub(crate) struct Serving {
    pub(crate) events: Receiver<Event>,
    pub(crate) sender: Sender<Event>,
    /// The number of requests, which continues to count.
    pub(crate) requests: Arc<AtomicU64>,
}

/// Does the handshake with the kernel and serves its requests with separate threads until the file
/// system ends, which is sent as an event.
pub(crate) fn serve_in_background(
    image: Arc<dyn Image>,
    device: OwnedFd,
    options: &MountOptions,
) -> Result<Serving> {
    // one at a time, so that new threads belong to this file system
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let (sender, events) = channel();
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
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let before = threads();
    let thread = std::thread::Builder::new().name("mount".into()).spawn(run);
    thread.map_err(failed("cannot start a thread"))?;
    // without /proc this cannot be determined
    let are_all_there = || {
        let now = before.as_ref().and_then(count_of_new);
        now.is_none_or(|now| now >= options.thread_count())
    };
    for _ in 0..LOOKS {
        if are_all_there() {
            break;
        }
        match events.recv_timeout(PAUSE) {
            Ok(Event::Ended(Err(error))) => return Err(failed("cannot serve the mount")(error)),
            Ok(event) => {
                // somebody has unmounted it already
                let _ = sender.send(event);
                break;
            }
            Err(_) => {}
        }
    }
    Ok(Serving {
        events,
        sender,
        requests,
    })
}

/// Returns the threads of this process; `None` where there is no /proc.
fn threads() -> Option<BTreeSet<OsString>> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    Some(tasks.flatten().map(|task| task.file_name()).collect())
}

/// Counts the threads that answer requests and were not there before, by the name that the library
/// gives them. Only names of new threads are read: there may be thousands of others.
fn count_of_new(before: &BTreeSet<OsString>) -> Option<usize> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten();
    let serves = |task: &DirEntry| {
        let name = std::fs::read(task.path().join("comm"));
        name.is_ok_and(|name| name.starts_with(b"fuser-"))
    };
    let new = tasks.filter(|task| !before.contains(&task.file_name()));
    Some(new.filter(serves).count())
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
