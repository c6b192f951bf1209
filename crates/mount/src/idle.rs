//! Unmounts a file system that nobody uses any more.
//!
//! Enters a mount; the file system is unmounted, which its session notices. **Invariant:** a file
//! system that is in use, or was used since the last look at it, stays mounted: the kernel decides
//! that for root (`MNT_EXPIRE`, umount2(2)), the count of requests for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use sinterfs_model::{Error, Result};

use crate::detach::{detach, is_busy};
use crate::mountinfo::{Mount, mounted_at};

/// A thread that looks at a mount from time to time; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct IdleUnmounter {
    _end: Sender<()>,
}

impl IdleUnmounter {
    /// Starts the thread, which unmounts the file system when it was not used for `after`, and not
    /// later than after twice that time. `requests` counts the requests to the server.
    pub(crate) fn start(mount: Mount, after: Duration, requests: Arc<AtomicU64>) -> Result<Self> {
        let (end, ended) = channel();
        let work = move || look(&mount, after, &requests, &ended);
        let thread = std::thread::Builder::new().name("idle".into()).spawn(work);
        thread.map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(Self { _end: end })
    }
}

fn look(mount: &Mount, after: Duration, requests: &AtomicU64, ended: &Receiver<()>) {
    let mut before = None;
    while ended.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
        // something else may be mounted over it by now, which keeps it in use
        let top = mounted_at(&mount.point).ok().flatten();
        if top.is_none_or(|top| top.device != mount.device) {
            continue;
        }
        match rustix::mount::unmount(&mount.point, UnmountFlags::EXPIRE | UnmountFlags::NOFOLLOW) {
            Ok(()) => return,
            // marked as unused from now on, or in use
            Err(Errno::AGAIN | Errno::BUSY) => {}
            Err(_) => {
                let now = Some(requests.load(Ordering::Relaxed));
                if now == before && !detach(mount, false).is_err_and(|error| is_busy(&error)) {
                    return;
                }
                before = now;
            }
        }
    }
}
