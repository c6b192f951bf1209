//! The writable layer of overlayfs: a directory with `upper` and `work`, or memory.
//!
//! Enters the directory of the user; leaves it prepared and locked. **Invariant:** one mount at a
//! time uses a directory; directories that were made for a mount which fails are removed again.
//!
//! Source: "Documentation/filesystems/overlayfs.rst" of Linux, "Upper and Lower", "Sharing and
//! copying layers".

use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;
use sinterfs_model::{Error, Result};

/// The place for changes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Upper {
    /// A directory with the directories `upper` and `work`, which are made if they are missing.
    Directory(PathBuf),
    /// Memory; changes are lost when the mount ends.
    Memory,
}

/// The most bytes of an extended attribute, and of a list of names: `XATTR_SIZE_MAX`.
const XATTR_MAX: usize = 64 << 10;

/// The directories of an upper layer, ready for overlayfs.
pub(crate) struct Prepared {
    /// The full path of the directory with `upper` and `work`.
    pub(crate) base: PathBuf,
    /// The locked directory.
    pub(crate) lock: Option<OwnedFd>,
    /// The created directories, in that order.
    made: Vec<PathBuf>,
    complete: bool,
}

impl Prepared {
    /// Makes and locks the directories; a new `upper` gets the attributes of `root`, the root of
    /// the layer below. `Invalid` if the directory is hidden by a mount on `point`, `Io` with
    /// `EBUSY` if another mount uses it.
    pub(crate) fn directory(dir: &Path, point: &Path, root: impl AsFd) -> Result<Self> {
        let mut prepared = Self {
            base: dir.to_owned(),
            lock: None,
            made: Vec::new(),
            complete: false,
        };
        prepared.make(dir)?;
        let failed = |what| move |error| Error::io(what, error).path(dir);
        let base = dir
            .canonicalize()
            .map_err(failed("cannot use the directory of the upper layer"))?;
        if base.starts_with(point) {
            let what = "the directory of the upper layer is inside the mount point";
            return Err(Error::invalid(what).path(dir));
        }
        let lock = File::open(&base).map_err(failed("cannot open the upper layer"))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                let what = "another mount uses this upper layer";
                return Err(Error::io(what, Errno::BUSY).path(dir));
            }
            other => other.map_err(|errno| Error::io("cannot lock it", errno).path(dir))?,
        }
        prepared.lock = Some(lock.into());
        prepared.base = base;
        prepared.layers(root)?;
        Ok(prepared)
    }

    /// Makes the directories in `base`, which is memory.
    pub(crate) fn memory(base: &Path, root: impl AsFd) -> Result<Self> {
        let mut prepared = Self {
            base: base.to_owned(),
            lock: None,
            made: Vec::new(),
            complete: false,
        };
        prepared.layers(root)?;
        Ok(prepared)
    }

    /// Keeps what was made.
    pub(crate) fn complete(mut self) -> Option<OwnedFd> {
        self.complete = true;
        self.lock.take()
    }

    fn layers(&mut self, root: impl AsFd) -> Result<()> {
        let upper = self.base.join("upper");
        if self.make(&upper)? {
            copy_attributes(root, &upper).map_err(|errno| {
                Error::io("cannot give the upper layer its attributes", errno).path(&upper)
            })?;
        }
        self.make(&self.base.join("work")).map(drop)
    }

    /// Makes a directory if it is missing, and returns whether it was.
    fn make(&mut self, dir: &Path) -> Result<bool> {
        if dir.is_dir() {
            return Ok(false);
        }
        let made = fs::DirBuilder::new().mode(0o755).create(dir);
        made.map_err(|error| Error::io("cannot make the directory", error).path(dir))?;
        self.made.push(dir.to_owned());
        Ok(true)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if !self.complete {
            // what is not empty is kept; the first error is returned
            let _ = fs::remove_dir(self.base.join("work/work"));
            for dir in self.made.iter().rev() {
                let _ = fs::remove_dir(dir);
            }
        }
    }
}

/// Copies owner, permissions, modification time and extended attributes of a directory, except the
/// marks of overlayfs.
fn copy_attributes(from: impl AsFd, to: &Path) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let from = rustix::fs::openat(from, ".", flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&from)?;
    let io = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    chown(to, Some(stat.st_uid), Some(stat.st_gid)).map_err(io)?;
    let mode = fs::Permissions::from_mode(stat.st_mode & 0o7777);
    fs::set_permissions(to, mode).map_err(io)?;
    copy_xattrs(&from, to)?;
    let time = Timespec {
        tv_sec: stat.st_mtime,
        tv_nsec: stat.st_mtime_nsec.try_into().unwrap_or_default(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(CWD, to, &times, AtFlags::empty())
}

fn copy_xattrs(from: &OwnedFd, to: &Path) -> rustix::io::Result<()> {
    let mut names = vec![0; XATTR_MAX];
    let len = match rustix::fs::flistxattr(from, &mut names) {
        Err(Errno::NOTSUP) => 0,
        other => other?,
    };
    names.truncate(len);
    let mut value = vec![0; XATTR_MAX];
    for name in names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        if name.starts_with(b"trusted.overlay.") || name.starts_with(b"user.overlay.") {
            continue;
        }
        let len = rustix::fs::fgetxattr(from, name, &mut value)?;
        let (bytes, _) = value.split_at(len.min(XATTR_MAX));
        match rustix::fs::setxattr(to, name, bytes, XattrFlags::empty()) {
            // the file system of the upper layer has no such attributes at all
            Err(Errno::NOTSUP) => {}
            other => other?,
        }
    }
    Ok(())
}
