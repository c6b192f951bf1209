//! Directories by system calls that take a directory and a name.
//!
//! In: open directories and names. Out: open files. **Invariant:** every call has a flag by which
//! the kernel refuses symlinks, or does not follow them by itself.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{self, AtFlags, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use sinterfs_model::{FileType, Rdev, Time, Times};

use super::OpenFor;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "posix.rs"]
mod kernel;

pub(super) use kernel::{list, open_within, set_looked_mode, status, status_of};

const WRITE: OFlags = OFlags::WRONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Returns the flags to open a file with, but those that concern symlinks.
fn flags(open: OpenFor) -> OFlags {
    let flags = match open {
        OpenFor::Walk => kernel::PATH | OFlags::DIRECTORY,
        OpenFor::List => OFlags::RDONLY | OFlags::DIRECTORY,
        OpenFor::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
        OpenFor::Look => kernel::LOOK,
    };
    flags | OFlags::CLOEXEC
}

pub(super) fn open(path: &Path, open: OpenFor) -> io::Result<File> {
    let flags = flags(open) | OFlags::DIRECTORY;
    Ok(fs::open(path, flags, Mode::empty())?.into())
}

pub(super) fn child(dir: &File, name: &[u8], open: OpenFor) -> io::Result<File> {
    let flags = flags(open) | OFlags::NOFOLLOW;
    Ok(fs::openat(dir, name, flags, Mode::empty())?.into())
}

pub(super) fn open_beneath(root: &File, path: &[u8], open: OpenFor) -> io::Result<File> {
    Ok(kernel::open_beneath(root, path, flags(open))?)
}

/// Opens a path component by component.
fn open_each(dir: &File, path: &[u8], flags: OFlags) -> rustix::io::Result<File> {
    let through = kernel::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<File> = None;
    let mut names = path.split(|&byte| byte == b'/').peekable();
    loop {
        let name = names.next().ok_or(Errno::NOENT)?;
        let dir = at.as_ref().unwrap_or(dir);
        let name = if name.is_empty() { b"." } else { name };
        if names.peek().is_none() {
            let file = fs::openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            return Ok(file.into());
        }
        at = Some(fs::openat(dir, name, through, Mode::empty())?.into());
    }
}

pub(super) fn open_anywhere(
    dir: &File,
    path: &[u8],
    open: OpenFor,
    follow: bool,
) -> io::Result<File> {
    let path = if path.is_empty() { b"." } else { path };
    Ok(fs::openat(dir, path, followed(open, follow), Mode::empty())?.into())
}

fn followed(open: OpenFor, follow: bool) -> OFlags {
    let no_follow = if follow {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    };
    flags(open) | no_follow
}

pub(super) fn read_link(dir: &File, name: &[u8]) -> io::Result<Vec<u8>> {
    Ok(fs::readlinkat(dir, name, Vec::new())?.into_bytes())
}

pub(super) fn read_open_link(link: &File) -> io::Result<Vec<u8>> {
    Ok(fs::readlinkat(link, "", Vec::new())?.into_bytes())
}

pub(super) fn make_dir(dir: &File, name: &[u8], mode: u32) -> io::Result<()> {
    Ok(fs::mkdirat(dir, name, mode_of(mode))?)
}

pub(super) fn make_file(dir: &File, name: &[u8], mode: u32) -> io::Result<File> {
    let flags = WRITE | OFlags::CREATE | OFlags::EXCL;
    Ok(fs::openat(dir, name, flags, mode_of(mode))?.into())
}

pub(super) fn open_to_write(dir: &File, name: &[u8]) -> io::Result<File> {
    Ok(fs::openat(dir, name, WRITE, Mode::empty())?.into())
}

pub(super) fn make_symlink(dir: &File, name: &[u8], text: &[u8], _: bool) -> io::Result<()> {
    Ok(fs::symlinkat(text, dir, name)?)
}

pub(super) fn make_special(
    dir: &File,
    name: &[u8],
    kind: FileType,
    mode: u32,
    rdev: Rdev,
) -> io::Result<()> {
    Ok(kernel::make_special(dir, name, kind, mode_of(mode), rdev)?)
}

pub(super) fn link(from: &File, old: &[u8], to: &File, new: &[u8]) -> io::Result<()> {
    Ok(fs::linkat(from, old, to, new, AtFlags::empty())?)
}

pub(super) fn move_over(dir: &File, from: &[u8], to_dir: &File, to: &[u8]) -> io::Result<()> {
    Ok(fs::renameat(dir, from, to_dir, to)?)
}

pub(super) fn move_new(dir: &File, from: &[u8], to_dir: &File, to: &[u8]) -> io::Result<()> {
    match fs::renameat_with(dir, from, to_dir, to, RenameFlags::NOREPLACE) {
        // kernels and file systems without that flag
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        done => Ok(done?),
    }
}

pub(super) fn remove(dir: &File, name: &[u8]) -> io::Result<()> {
    match fs::unlinkat(dir, name, AtFlags::empty()) {
        // POSIX' error for directories
        Err(Errno::PERM) if is_dir(dir, name) => Err(Errno::ISDIR.into()),
        other => Ok(other?),
    }
}

pub(super) fn remove_dir(dir: &File, name: &[u8]) -> io::Result<()> {
    Ok(fs::unlinkat(dir, name, AtFlags::REMOVEDIR)?)
}

fn is_dir(dir: &File, name: &[u8]) -> bool {
    status(dir, name).is_ok_and(|found| found.kind == Some(FileType::Directory))
}

pub(super) fn set_owner(dir: &File, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    Ok(fs::chownat(dir, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
}

pub(super) fn set_times(dir: &File, name: &[u8], times: &Times) -> io::Result<()> {
    let times = timestamps(times);
    Ok(fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

pub(super) fn set_open_owner(file: &File, uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    Ok(fs::fchown(file, uid, gid)?)
}

pub(super) fn set_open_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(fs::fchmod(file, mode_of(mode))?)
}

pub(super) fn set_open_times(file: &File, times: &Times) -> io::Result<()> {
    Ok(fs::futimens(file, &timestamps(times))?)
}

/// Returns permissions as the system takes them: 16 bits on some.
#[allow(clippy::cast_possible_truncation, reason = "12 bits fit")]
fn mode_of(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as fs::RawMode)
}

fn timestamps(times: &Times) -> Timestamps {
    let spec = |time: Time| Timespec {
        tv_sec: time.secs,
        // larger numbers mean "now" and "leave it" to the kernel
        tv_nsec: time.nanos.min(999_999_999).into(),
    };
    Timestamps {
        last_access: spec(times.accessed),
        last_modification: spec(times.modified),
    }
}
