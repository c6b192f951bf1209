//! The directory of the files of a list.
//!
//! Enters a path of a list; leaves an open file. **Invariant:** unless it is allowed, no path leads
//! out of the directory through `..` or symlinks: the kernel refuses it while resolving the path.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use sinterfs_model::{Error, Result, Setting};

use crate::source::directory::beneath;
use crate::source::directory::status::{self, Status};

/// An open directory.
pub(super) struct Root {
    dir: OwnedFd,
    path: PathBuf,
    allow_outside: bool,
}

impl Root {
    pub(super) fn open(path: &Path, allow_outside: bool) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, path, flags, Mode::empty());
        let failed = |errno| Error::io("cannot open the directory of a list's files", errno);
        Ok(Self {
            dir: dir.map_err(|errno| failed(errno).path(path))?,
            path: path.to_owned(),
            allow_outside,
        })
    }

    /// Returns a path for messages.
    pub(super) fn display_path(&self, path: &[u8]) -> String {
        self.path.join(path_of(path)).display().to_string()
    }

    /// Returns the status of a file without opening it for reading; `None` if it does not exist.
    pub(super) fn status(&self, path: &[u8], follows: bool) -> Result<Option<(OwnedFd, Status)>> {
        let follow = if follows {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        let fd = match self.lookup(path, OFlags::PATH | follow)? {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let status = status::of_fd(&fd).map_err(|errno| self.failed(path, errno))?;
        Ok(Some((fd, status)))
    }

    /// Opens a file; symlinks are followed.
    pub(super) fn open_at(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd> {
        self.lookup(path, flags)?
            .map_err(|errno| self.failed(path, errno))
    }

    fn failed(&self, path: &[u8], errno: Errno) -> Error {
        Error::io(format!("cannot open {}", self.display_path(path)), errno)
    }

    /// Resolves a path; fails if it leads out of the directory, other errors are left to the
    /// caller.
    fn lookup(&self, path: &[u8], flags: OFlags) -> Result<rustix::io::Result<OwnedFd>> {
        let flags = flags | OFlags::CLOEXEC;
        let outside = || {
            let display_path = String::from_utf8_lossy(path);
            let option = Setting::ManifestAnywhere;
            let what = format!(
                "`{display_path}` leads out of {}: {option} allows that",
                self.path.display()
            );
            Error::invalid(what).about([option])
        };
        let name = match path {
            b"" => b".",
            path => path,
        };
        if self.allow_outside {
            return Ok(openat(&self.dir, name, flags, Mode::empty()));
        }
        if path.starts_with(b"/") {
            return Err(outside());
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.dir, name, flags, Mode::empty(), resolve) {
            Err(Errno::XDEV) => Err(outside()),
            // a kernel before 5.6, a sandbox that refuses the call, or a long path: without
            // symlinks
            Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => {
                if path.split(|&byte| byte == b'/').any(|name| name == b"..") {
                    return Err(outside());
                }
                Ok(beneath::open(
                    self.dir.as_fd(),
                    path,
                    flags | OFlags::NOFOLLOW,
                ))
            }
            result => Ok(result),
        }
    }
}

/// Reads the target of an open symlink.
pub(super) fn target(symlink: &OwnedFd) -> Option<Vec<u8>> {
    let text = rustix::fs::readlinkat(symlink, "", Vec::new()).ok()?;
    Some(text.into_bytes())
}

/// Returns bytes as a path.
pub(super) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
