//! A mounted image, from mount to unmount.
//!
//! **Invariant:** when `mount` returns, the file system can be used; dropping a `Session` unmounts
//! it.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use sinterfs_model::{Cursor, Dirent, Error, FileType, Image, Result};
use sinterfs_platform::inherited::heeded;

use crate::attach::{attach, mount_point};
use crate::detach::detach_covered;
use crate::detach::{detach, is_busy, undo};
use crate::idle::IdleUnmounter;
use crate::mountinfo::{Mount, made_at, mounted_at};
use crate::options::MountOptions;
use crate::start::{Event, Serving, raise_read_ahead, serve_in_background};

/// The time for which a busy file system is served after a signal to end.
const GRACE: Duration = Duration::from_secs(5);

/// The way in which a file system ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// It was unmounted, and was not in use any more.
    Unmounted,
    /// A signal came while files were open: it is unmounted, but processes with open files will get
    /// `ENOTCONN` when this process ends.
    Abandoned,
}

/// A mounted image.
#[derive(Debug)]
pub struct Session {
    unmounter: Unmounter,
    events: Receiver<Event>,
    sender: Sender<Event>,
    /// The thread that sends signals as events.
    listener: Option<Listener>,
    /// The number of requests so far.
    requests: Arc<AtomicU64>,
    idle: Option<IdleUnmounter>,
    /// The socket by which `fusermount3` notices that this process has ended.
    helper: Option<OwnedFd>,
    /// The locked directory of an upper layer.
    upper: Option<OwnedFd>,
    ended: bool,
}

/// A thread that sends signals as events until it is closed.
#[derive(Debug)]
struct Listener {
    signals: Handle,
    thread: JoinHandle<()>,
}

/// Unmounts a session, from any thread.
#[derive(Debug, Clone)]
pub struct Unmounter {
    mount: Mount,
}

/// Mounts an image on a directory and serves it with its own threads.
///
/// `NotFound` or `Invalid` if the mount point is missing or not a directory, `Io` with `EBUSY` if
/// an image is already mounted there, `NotFound` or `Io` if FUSE or `fusermount3` is missing.
pub fn mount(image: Arc<dyn Image>, dir: &Path, options: &MountOptions) -> Result<Session> {
    let point = mount_point(dir, &options.subtype)?;
    check_root(&*image).map_err(|error| error.path("/"))?;
    let signals = options.catch_signals.then(catch_signals).transpose()?;
    let attached = attach(&point, options)?;
    let started = start(image, &point, attached.device, options);
    if started.is_err() {
        undo(&point, |mount| mount.kind.ends_with(&options.subtype));
    }
    let mut session = started.map_err(|error| error.path(dir))?;
    if let Some(signals) = signals {
        session.listen(signals).map_err(|error| error.path(dir))?;
    }
    session.helper = attached.helper;
    Ok(session)
}

/// Fails if the root cannot be shown: the mount of such an image would be of no use.
pub(crate) fn check_root(image: &dyn Image) -> Result<()> {
    let root = image.info().root;
    let inode = image.inode(root).map_err(Error::into_corrupt_entry)?;
    if inode.kind != FileType::Directory {
        return Err(Error::corrupt("the root is not a directory"));
    }
    let mut first = |_: Dirent<'_>| ControlFlow::Break(());
    image
        .read_dir(root, Cursor::START, &mut first)
        .map_err(Error::into_corrupt_entry)
}

/// Starts to catch the signals that end a session, but those that this process ignores.
pub(crate) fn catch_signals() -> Result<Signals> {
    let signals = Signals::new(heeded(&[SIGINT, SIGTERM, SIGHUP]));
    signals.map_err(|error| Error::io("cannot wait for signals", error))
}

fn start(
    image: Arc<dyn Image>,
    point: &Path,
    device: OwnedFd,
    options: &MountOptions,
) -> Result<Session> {
    let read_ahead = options.read_ahead(image.info().totals.block_size);
    let serving = serve_in_background(image, device, options)?;
    let mount = made_at(point)?;
    raise_read_ahead(&mount.device, read_ahead);
    Session::new(mount, serving, None)
}

impl Session {
    /// Makes a session of a mount, and starts to listen to signals if they are caught already;
    /// unmounts if that fails.
    pub(crate) fn new(mount: Mount, serving: Serving, signals: Option<Signals>) -> Result<Self> {
        let mut session = Self {
            unmounter: Unmounter { mount },
            events: serving.events,
            sender: serving.sender,
            listener: None,
            requests: serving.requests,
            idle: None,
            helper: None,
            upper: None,
            ended: false,
        };
        if let Some(signals) = signals {
            session.listen(signals)?;
        }
        Ok(session)
    }

    fn listen(&mut self, mut signals: Signals) -> Result<()> {
        let handle = signals.handle();
        let sender = self.sender.clone();
        let listen = move || {
            for _ in signals.forever() {
                if sender.send(Event::Signal).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".into());
        let thread = thread.spawn(listen);
        self.listener = Some(Listener {
            thread: thread.map_err(|error| Error::io("cannot start a thread", error))?,
            signals: handle,
        });
        Ok(())
    }

    fn stop_listening(&mut self) {
        if let Some(listener) = self.listener.take() {
            listener.signals.close();
            // its result is empty
            let _ = listener.thread.join();
        }
    }

    /// Keeps a descriptor until the session ends.
    pub(crate) fn keep(mut self, upper: Option<OwnedFd>) -> Self {
        self.upper = upper;
        self
    }

    /// Returns the full path of the mount point.
    pub fn mount_point(&self) -> &Path {
        &self.unmounter.mount.point
    }

    /// Returns a handle that can unmount this session from any thread.
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// Unmounts the file system when nobody has used it for `after` (at the latest after twice that
    /// time); open files and working directories count as use.
    pub fn unmount_when_idle(&mut self, after: Duration) -> Result<()> {
        let mount = self.unmounter.mount.clone();
        let requests = Arc::clone(&self.requests);
        self.idle = Some(IdleUnmounter::start(mount, after, requests)?);
        Ok(())
    }

    /// Unmounts and waits for the end. `Io` with `EBUSY`, and still mounted, if it is in use.
    pub fn unmount(&mut self) -> Result<()> {
        self.unmounter.unmount(false)?;
        self.wait()
    }

    /// Waits until the file system is unmounted.
    pub fn wait(&mut self) -> Result<()> {
        while !self.ended {
            if let Ok(Event::Ended(result)) = self.events.recv() {
                return self.end(result);
            }
        }
        Ok(())
    }

    /// Waits until the file system is unmounted, or unmounts it on SIGINT, SIGTERM or SIGHUP. If it
    /// is busy then, it is removed from the tree at once and served for five more seconds, or until
    /// the next signal.
    pub fn serve(&mut self) -> Result<Ended> {
        if self.listener.is_none() {
            self.listen(catch_signals()?)?;
        }
        let ended = self.serve_until_signal();
        self.stop_listening();
        ended
    }

    /// Ends the session with the result of serving it; after a failure the file system is still
    /// mounted, so this unmounts it.
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
        self.stop_listening();
        if !self.ended && self.unmounter.unmount(true).is_ok() {
            // a failure to serve cannot be reported any more
            let _ = self.events.recv_timeout(GRACE);
        }
    }
}

impl Unmounter {
    /// Unmounts, if it is still mounted. See `umount` for `lazy`.
    pub fn unmount(&self, lazy: bool) -> Result<()> {
        match mounted_at(&self.mount.point)? {
            Some(top) if top.device == self.mount.device => detach(&top, lazy),
            _ if lazy || !self.is_mounted()? => detach_covered(&self.mount, lazy),
            _ => {
                let busy = rustix::io::Errno::BUSY;
                Err(Error::io(
                    "another file system is mounted over the image",
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
