//! A mounted image: begins with the mount, ends with the unmount.
//!
//! **Invariant:** when `mount` returns, the file system answers; a `Session` that is dropped is
//! unmounted.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sinterfs_model::{Error, Image, Kind, Result};

use crate::attach::{attach, mount_point};
use crate::detach::{detach, is_busy};
use crate::fuse;
use crate::mountinfo::{Mount, mounted_at};
use crate::options::MountOptions;
use crate::view::View;

/// How long a busy file system goes on after a signal asked it to end.
const GRACE: Duration = Duration::from_secs(5);

/// Says how a file system ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was unmounted, and nobody used it any more.
    Unmounted,
    /// A signal asked for the end while files were open: the mount is gone, but whoever has them
    /// open will get `ENOTCONN` when this process ends.
    Abandoned,
}

/// What ends a session.
pub(crate) enum Event {
    Ended(std::io::Result<()>),
    Signal,
}

/// A mounted image.
#[derive(Debug)]
pub struct Session {
    unmounter: Unmounter,
    events: Receiver<Event>,
    sender: Sender<Event>,
    signals: Option<Signals>,
    ended: bool,
}

/// Unmounts a session, from any thread.
#[derive(Debug, Clone)]
pub struct Unmounter {
    mount: Mount,
}

/// Mounts an image on a directory and serves it from threads of its own.
///
/// `NotFound` or `Invalid` for a mount point that is missing or no directory, `Io` with `EBUSY`
/// where an image is mounted already, `NotFound` or `Io` where FUSE or `fusermount3` is missing.
pub fn mount(image: Arc<dyn Image>, dir: &Path, options: &MountOptions) -> Result<Session> {
    let point = mount_point(dir, &options.subtype)?;
    let signals = options.catch_signals.then(catch_signals).transpose()?;
    let device = attach(&point, options)?;
    let started = start(image, &point, device, options);
    if started.is_err()
        && let Ok(Some(mount)) = mounted_at(&point)
        && mount.kind.ends_with(&options.subtype)
    {
        // The first error is the one that matters.
        let _ = detach(&mount, true);
    }
    let mut session = started.map_err(|error| error.path(dir))?;
    session.signals = signals;
    Ok(session)
}

/// Waits for signals from now on.
pub(crate) fn catch_signals() -> Result<Signals> {
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    signals.map_err(|error| Error::io("can't wait for signals", error))
}

fn start(
    image: Arc<dyn Image>,
    point: &Path,
    device: OwnedFd,
    options: &MountOptions,
) -> Result<Session> {
    let read_ahead = options.read_ahead(image.info().totals.block_size);
    let (sender, events) = channel();
    greet_and_run(image, device, options, &sender)?;
    let mount = mounted_at(point)?;
    let mount = mount.ok_or_else(|| Error::new(Kind::Io, "the mount vanished at once"))?;
    raise_read_ahead(&mount.device, read_ahead);
    Ok(Session::new(mount, events, sender, None))
}

/// Greets the kernel and answers it from threads of its own, until the file system ends.
pub(crate) fn greet_and_run(
    image: Arc<dyn Image>,
    device: OwnedFd,
    options: &MountOptions,
    sender: &Sender<Event>,
) -> Result<()> {
    let view = View::new(image, options);
    let failed = |what| move |error| Error::io(what, error);
    let server = fuse::greet(device, view).map_err(failed("the kernel did not greet back"))?;
    let on_end = sender.clone();
    let run = move || {
        // Nobody listens any more when the session was dropped.
        let _ = on_end.send(Event::Ended(server.run()));
    };
    let thread = std::thread::Builder::new().name("mount".into()).spawn(run);
    thread.map(drop).map_err(failed("cannot start a thread"))
}

/// FUSE itself allows no more than 128 KiB; that root may raise it afterwards is worth a lot for
/// large files. Where it fails, reading is only slower.
pub(crate) fn raise_read_ahead(device: &str, bytes: u32) {
    let path = format!("/sys/class/bdi/{device}/read_ahead_kb");
    let _ = std::fs::write(path, (bytes / 1024).to_string());
}

impl Session {
    pub(crate) fn new(
        mount: Mount,
        events: Receiver<Event>,
        sender: Sender<Event>,
        signals: Option<Signals>,
    ) -> Self {
        Self {
            unmounter: Unmounter { mount },
            events,
            sender,
            signals,
            ended: false,
        }
    }

    /// Returns the full path of the mount point.
    pub fn mount_point(&self) -> &Path {
        &self.unmounter.mount.point
    }

    /// Returns what unmounts this session from elsewhere.
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// Unmounts and waits for the end. `Io` with `EBUSY` if it is in use: it goes on then.
    pub fn unmount(&mut self) -> Result<()> {
        self.unmounter.unmount(false)?;
        self.wait()
    }

    /// Waits until the file system is unmounted, by whomever.
    pub fn wait(&mut self) -> Result<()> {
        while !self.ended {
            if let Ok(Event::Ended(result)) = self.events.recv() {
                return self.end(result);
            }
        }
        Ok(())
    }

    /// Waits until the file system is unmounted, or until SIGINT, SIGTERM or SIGHUP comes, which
    /// unmounts it. If it is busy then, it vanishes from the tree at once and whoever uses it has
    /// five seconds left, or until the next signal.
    pub fn serve(&mut self) -> Result<Ended> {
        let mut signals = self.signals.take().map_or_else(catch_signals, Ok)?;
        let handle = signals.handle();
        let sender = self.sender.clone();
        let listen = move || {
            for _ in signals.forever() {
                if sender.send(Event::Signal).is_err() {
                    break;
                }
            }
        };
        let listener = std::thread::Builder::new()
            .name("signals".into())
            .spawn(listen);
        let listener = listener.map_err(|error| Error::io("cannot start a thread", error))?;
        let ended = self.serve_until_signal();
        handle.close();
        // It has nothing to tell but that it ended.
        let _ = listener.join();
        ended
    }

    /// Notes that no thread answers any more, and why. After a failure nobody would unmount: it is done
    /// here.
    fn end(&mut self, result: std::io::Result<()>) -> Result<()> {
        self.ended = true;
        result.map_err(|error| {
            let _ = self.unmounter.unmount(true);
            Error::io("serving the mount failed", error)
        })
    }

    fn serve_until_signal(&mut self) -> Result<Ended> {
        let Some(event) = self.events.recv().ok().filter(|_| !self.ended) else {
            return Ok(Ended::Unmounted);
        };
        if let Event::Ended(result) = event {
            return self.end(result).map(|()| Ended::Unmounted);
        }
        match self.unmounter.unmount(false) {
            Err(error) if is_busy(&error) => self.unmounter.unmount(true)?,
            other => other?,
        }
        match self.events.recv_timeout(GRACE) {
            Ok(Event::Ended(result)) => self.end(result).map(|()| Ended::Unmounted),
            Ok(Event::Signal) | Err(RecvTimeoutError::Timeout) => {
                self.ended = true;
                Ok(Ended::Abandoned)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(Ended::Unmounted),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.ended && self.unmounter.unmount(true).is_ok() {
            // A failure to serve has nobody left to be told to.
            let _ = self.events.recv_timeout(GRACE);
        }
    }
}

impl Unmounter {
    /// Unmounts; that it is unmounted already is no error. See `umount` for `lazy`.
    pub fn unmount(&self, lazy: bool) -> Result<()> {
        match mounted_at(&self.mount.point)? {
            Some(top) if top.device == self.mount.device => detach(&top, lazy),
            _ if !self.is_mounted()? => Ok(()),
            _ => {
                let busy = rustix::io::Errno::BUSY;
                Err(Error::io(
                    "something else is mounted on top of the image",
                    busy,
                ))
            }
        }
        .map_err(|error| error.path(&self.mount.point))
    }

    fn is_mounted(&self) -> Result<bool> {
        Ok(crate::mountinfo::mounts()?.contains(&self.mount))
    }
}
