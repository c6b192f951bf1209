//! Unmounts: by umount2(2) where that is allowed, else by `fusermount3`.
//!
//! **Invariant:** only a FUSE mount, or one of EROFS that is served by us, is ever unmounted, and never what lies on top of or below the
//! one that was meant.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use sinterfs_model::{Error, Kind, Result};

use crate::attach::{finish, helper, spawn};
use crate::kernel;
use crate::mountinfo::{Mount, mounted_at};

const BUSY: &str = "the mount is busy: some process has a file or a directory open in it";

/// Unmounts what FUSE, or the kernel for us, has mounted on a directory.
///
/// If it is busy, `lazy` takes it out of the tree at once and ends it when it is no longer used;
/// otherwise the error is `Io` with `EBUSY`. `Invalid` if no such mount is there.
pub fn umount(dir: &Path, lazy: bool) -> Result<()> {
    let point = full_path(dir)?;
    let mount = mounted_at(&point)?;
    let mount = mount.ok_or_else(|| Error::invalid("nothing is mounted there").path(dir))?;
    if !is_fuse(&mount) && !kernel::is_ours(&mount) {
        let what = format!(
            "what is mounted there is neither of FUSE nor an image of ours but {}",
            mount.kind
        );
        return Err(Error::invalid(what).path(dir));
    }
    detach(&mount, lazy).map_err(|error| error.path(dir))
}

fn is_fuse(mount: &Mount) -> bool {
    mount.kind == "fuse" || mount.kind.starts_with("fuse.")
}

/// Returns whether an error says that a mount is in use.
pub(crate) fn is_busy(error: &Error) -> bool {
    error.io_source().and_then(Errno::from_io_error) == Some(Errno::BUSY)
}

/// Unmounts a mount that is known to be the uppermost at its place.
pub(crate) fn detach(mount: &Mount, lazy: bool) -> Result<()> {
    let mut flags = UnmountFlags::NOFOLLOW;
    flags.set(UnmountFlags::DETACH, lazy);
    match rustix::mount::unmount(&mount.point, flags) {
        Err(Errno::PERM) if is_fuse(mount) => by_helper(&mount.point, lazy),
        Err(Errno::BUSY) => Err(Error::io(BUSY, Errno::BUSY)),
        other => other.map_err(|errno| Error::io("unmount failed", errno)),
    }
}

fn by_helper(point: &Path, lazy: bool) -> Result<()> {
    let mut command = helper();
    command.arg("-u");
    if lazy {
        command.arg("-z");
    }
    command.arg("--").arg(point).env("LC_ALL", "C");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    match finish(spawn(&mut command)?)? {
        None => Ok(()),
        Some(complaint) if complaint.contains("busy") => Err(Error::io(BUSY, Errno::BUSY)),
        Some(complaint) => Err(Error::new(Kind::Io, complaint)),
    }
}

/// Finds the full path without asking the server of the mount, which may be dead.
fn full_path(dir: &Path) -> Result<PathBuf> {
    let failed = |error: io::Error| Error::io("can't find the mount point", error).path(dir);
    match dir.canonicalize() {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(failed(error)),
        Err(error) => {
            let Some(name) = dir.file_name() else {
                return Err(failed(error));
            };
            let parent = match dir.parent() {
                Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
                Some(parent) => parent,
                None => return Err(failed(error)),
            };
            Ok(parent.canonicalize().map_err(failed)?.join(name))
        }
    }
}
