//! A mount with what belongs to it while it is served: logs, statistics, a cache that is trimmed.
//!
//! **Invariant:** logs and statistics are complete when the call that ends the session returns;
//! dropping a session unmounts.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use sinterfs_model::{Error, Result};
use sinterfs_mount::{Ended, Unmounter};

use crate::mount::cache_trimmer::CacheTrimmer;
use crate::mount::statistics::Statistics;
use crate::mount::ticker::Ticker;

/// The first pause between two tries to unmount what is in use; each one is twice as long as the
/// one before it, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A mount that threads of this process serve; dropping it unmounts.
#[derive(Debug)]
pub struct Session {
    // dropped first: what follows is complete when nothing is read any more
    served: sinterfs_mount::Session,
    pub(super) watchers: Watchers,
}

/// What works while an image is served.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    pub(super) damage: Option<Ticker>,
    pub(super) statistics: Option<Statistics>,
    pub(super) trimmers: Vec<CacheTrimmer>,
}

impl Session {
    pub(super) fn new(served: sinterfs_mount::Session) -> Self {
        Self {
            served,
            watchers: Watchers::default(),
        }
    }

    /// Returns the full path of the mount point.
    pub fn mount_point(&self) -> &Path {
        self.served.mount_point()
    }

    /// Returns a handle that can unmount this session from any thread.
    pub fn unmounter(&self) -> Unmounter {
        self.served.unmounter()
    }

    /// Unmounts the file system when nobody has used it for `after` (at the latest after twice that
    /// time); open files and working directories count as use.
    ///
    /// # Errors
    /// `Io` if no thread can be started.
    pub fn unmount_when_idle(&mut self, after: Duration) -> Result<()> {
        self.served.unmount_when_idle(after)
    }

    /// Unmounts the file system when all writers of a pipe have closed it and nobody uses the
    /// mount.
    ///
    /// # Errors
    /// `Io` if no thread can be started.
    pub fn unmount_when_closed(&self, pipe: OwnedFd) -> Result<()> {
        let unmounter = self.unmounter();
        let work = move || {
            // nobody writes: it ends when the last writer is gone
            let _ = File::from(pipe).read_to_end(&mut Vec::new());
            let mut pause = FIRST_PAUSE;
            while unmounter.unmount(false).is_err() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        let thread = std::thread::Builder::new().name("users".into()).spawn(work);
        let started = thread.map_err(|error| Error::io("cannot start a thread", error));
        started.map(drop)
    }

    /// Unmounts and waits for the end.
    ///
    /// # Errors
    /// `Io` with `EBUSY`, and still mounted, if it is in use; the errors of [`Self::wait`].
    pub fn unmount(&mut self) -> Result<()> {
        self.served.unmounter().unmount(false)?;
        self.wait()
    }

    /// Unmounts. What is in use is detached from its directory, and a thread serves it until the
    /// last file is closed, as long as this process runs.
    ///
    /// # Errors
    /// `Io` if it cannot be unmounted; it is mounted then until the process ends.
    pub fn detach(mut self) -> Result<()> {
        if self.served.unmounter().unmount(false).is_ok() {
            return self.wait();
        }
        self.served.unmounter().unmount(true)?;
        let serve = move || {
            // nobody is left to get an error
            let _ = self.wait();
        };
        let thread = std::thread::Builder::new()
            .name("detached".into())
            .spawn(serve);
        thread.map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(())
    }

    /// Waits until the file system is unmounted, by whomever.
    ///
    /// # Errors
    /// `Io` if serving the mount failed, or the list of reads could not be written.
    pub fn wait(&mut self) -> Result<()> {
        let ended = self.served.wait();
        let finished = self.watchers.finish();
        ended.and(finished)
    }

    /// Waits until the file system is unmounted, or unmounts it on SIGINT, SIGTERM or SIGHUP. If it
    /// is busy then, it is removed from the tree at once and served for five more seconds, or until
    /// the next signal.
    ///
    /// # Errors
    /// The errors of [`Self::wait`].
    pub fn serve(&mut self) -> Result<Ended> {
        let ended = self.served.serve();
        let finished = self.watchers.finish();
        ended.and_then(|ended| finished.map(|()| ended))
    }
}

impl Watchers {
    /// Completes logs and statistics.
    fn finish(&mut self) -> Result<()> {
        drop(self.damage.take());
        self.trimmers.clear();
        let statistics = self.statistics.take();
        statistics.map_or(Ok(()), |mut statistics| statistics.finish())
    }
}
