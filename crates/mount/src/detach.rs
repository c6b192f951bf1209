//! Unmounts: with umount2(2) if that is allowed, else with `fusermount3`.
//!
//! **Invariant:** only FUSE mounts and kernel mounts made by this crate are unmounted, and never a
//! mount above or below the requested one. A mount that hides another one is restored afterwards:
//! it is moved away only for a moment, since umount2(2) takes paths, and a path leads to the
//! topmost mount.
//!
//! Source: `open_tree` and `move_mount` of mount_setattr(2).

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree};
use sinterfs_model::{Error, Kind, Result};

use crate::backing_name;
use crate::covered::{covers, take_away};
use crate::fusermount::{fusermount, spawn, wait};
use crate::mountinfo::{Mount, mounted_at, mounts};

const BUSY: &str = "the mount is busy: some process has a file or a directory open in it";

/// Unmounts a FUSE mount, or a kernel mount made by this crate, from a directory.
///
/// If the mount is busy, `lazy` removes it from the tree at once and ends it when it is no longer
/// used; without, the error is `Io` with `EBUSY`. `Invalid` if there is no such mount.
pub fn umount(dir: &Path, lazy: bool) -> Result<()> {
    let point = full_path(dir)?;
    let mount = mounted_at(&point)?;
    let mount = mount.ok_or_else(|| Error::invalid("nothing is mounted there").path(dir))?;
    if !is_fuse(&mount) && !backing_name::is_ours(&mount) {
        let what = format!(
            "the mount there is neither FUSE nor one of our images but {}",
            mount.kind
        );
        return Err(Error::invalid(what).path(dir));
    }
    detach(&mount, lazy).map_err(|error| error.path(dir))
}

fn is_fuse(mount: &Mount) -> bool {
    mount.kind == "fuse" || mount.kind.starts_with("fuse.")
}

/// Returns whether an error is that a mount is in use.
pub(crate) fn is_busy(error: &Error) -> bool {
    error.io_source().and_then(Errno::from_io_error) == Some(Errno::BUSY)
}

/// Unmounts a mount that is known to be the topmost at its mount point.
pub(crate) fn detach(mount: &Mount, lazy: bool) -> Result<()> {
    let mut flags = UnmountFlags::NOFOLLOW;
    flags.set(UnmountFlags::DETACH, lazy);
    match rustix::mount::unmount(&mount.point, flags) {
        Err(Errno::PERM) if is_fuse(mount) => unmount_by_helper(&mount.point, lazy),
        Err(Errno::BUSY) => Err(Error::io(BUSY, Errno::BUSY)),
        other => other.map_err(|errno| Error::io("unmount failed", errno)),
    }
}

/// Ends a mount that was made at this path just now and cannot be used. If the list of mounts
/// cannot be read, the mount counts as the topmost one. A failure is ignored: what failed before it
/// is the error.
pub(crate) fn undo(point: &Path, is_ours: impl FnOnce(&Mount) -> bool) {
    match mounted_at(point) {
        Ok(Some(mount)) if is_ours(&mount) => drop(detach(&mount, true)),
        Ok(_) => {}
        Err(_) => {
            let flags = UnmountFlags::NOFOLLOW | UnmountFlags::DETACH;
            if rustix::mount::unmount(point, flags) == Err(Errno::PERM) {
                drop(unmount_by_helper(point, true));
            }
        }
    }
}

fn unmount_by_helper(point: &Path, lazy: bool) -> Result<()> {
    let mut command = fusermount();
    command.arg("-u");
    if lazy {
        command.arg("-z");
    }
    command.arg("--").arg(point).env("LC_ALL", "C");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    match wait(spawn(&mut command)?)? {
        None => Ok(()),
        Some(complaint) if complaint.contains("busy") => Err(Error::io(BUSY, Errno::BUSY)),
        Some(complaint) => Err(Error::new(Kind::Io, complaint)),
    }
}

/// Returns the full path without a request to the server of the mount, which may have ended.
fn full_path(dir: &Path) -> Result<PathBuf> {
    let failed = |error: io::Error| Error::io("cannot find the mount point", error).path(dir);
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

/// Unmounts a mount, also one that others hide. Covering mounts are moved away before that and put
/// back afterwards, even after a failure: their file systems stay the same.
pub(crate) fn detach_covered(mount: &Mount, lazy: bool) -> Result<()> {
    let all = mounts()?;
    if !all.contains(mount) {
        // it went with another one
        return Ok(());
    }
    let mut lifted: Vec<(OwnedFd, Mount)> = Vec::new();
    let mut result = Ok(());
    for cover in covers(&all, mount).into_iter().rev() {
        match lift(&cover) {
            Ok(tree) => lifted.push((tree, cover)),
            Err(errno) => {
                let what = "another file system is mounted over the image";
                result = Err(Error::io(what, errno));
                break;
            }
        }
    }
    let mut result = result.and_then(|()| detach(mount, lazy));
    for (tree, cover) in lifted.iter().rev() {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        if let Err(errno) = move_mount(tree, "", CWD, &cover.point, flags) {
            let what = format!(
                "cannot put back the {} that was mounted over it",
                cover.kind
            );
            result = result.and(Err(Error::io(what, errno)));
        }
    }
    result
}

/// Takes a mount away, with those in it; returns a copy of it.
fn lift(cover: &Mount) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, &cover.point, flags)?;
    take_away(cover)?;
    Ok(tree)
}
