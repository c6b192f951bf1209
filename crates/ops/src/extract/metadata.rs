//! Sets owner, permissions, attributes and times of restored files, in this order: a change of
//! owner clears set-id bits and capabilities, and everything changes times.
//!
//! **Invariant:** what cannot be set is reported and counted, and never fails the entry; set-id
//! bits are set only on a file that has the owner (or group) that the image gives them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, AtFlags, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Result as IoResult;
use sinterfs_model::{Error, FileType, Inode, Time, Xattrs};

use super::job::Extraction;
use super::target::{open_name, proc_path};
use crate::plan::{Item, Spot};

const SET_UID: u16 = 0o4000;
const SET_GID: u16 = 0o2000;
const OWNER_WRITES: u16 = 0o200;

/// Restores metadata of an open file or directory.
pub(crate) fn of_open(job: &Extraction<'_>, fd: impl AsFd, spot: Spot, inode: &Inode) {
    let fd = fd.as_fd();
    // one stat shows what is right already, and costs less than a change
    let look = job.target.makes_for(inode).then(|| fs::fstat(fd));
    let found = look
        .and_then(IoResult::ok)
        .filter(|stat| owned(job, stat, inode));
    if found.is_none() {
        owner(job, spot, inode, |uid, gid| fs::fchown(fd, uid, gid));
    }
    let attributes = attributes(job, spot, inode);
    let writable = inode.meta.mode & OWNER_WRITES != 0 || inode.kind != FileType::File;
    if !writable && job.options.permissions && !attributes.is_empty() {
        // attributes can be set only on writable files; a failure is reported with them
        let _ = fs::fchmod(fd, Mode::RUSR | Mode::WUSR);
    }
    xattrs(job, spot, &attributes, |name, value| {
        fs::fsetxattr(fd, name, value, XattrFlags::empty())
    });
    let found = found.filter(|_| attributes.is_empty());
    if job.options.permissions && !found.is_some_and(|stat| has_mode(&stat, inode)) {
        let done = allowed_mode(fd, inode).and_then(|mode| fs::fchmod(fd, mode));
        report(job, spot, "can't set the permissions", done);
    }
    if job.options.times {
        report(
            job,
            spot,
            "can't set the times",
            fs::futimens(fd, &timestamps(inode)),
        );
    }
}

/// Restores metadata by name, of symlinks, devices, fifos and sockets, which are not opened.
pub(crate) fn of_name(job: &Extraction<'_>, dir: &OwnedFd, item: &Item, inode: &Inode) {
    let (spot, name) = (item.spot, job.plan.name(item.spot));
    let no_follow = AtFlags::SYMLINK_NOFOLLOW;
    let look = job.target.makes_for(inode);
    let look = look.then(|| fs::statat(dir, name, no_follow));
    if !matches!(look, Some(Ok(stat)) if owned(job, &stat, inode)) {
        owner(job, spot, inode, |uid, gid| {
            fs::chownat(dir, name, uid, gid, no_follow)
        });
    }
    let attributes = attributes(job, spot, inode);
    let permissions = job.options.permissions && inode.kind != FileType::Symlink;
    if permissions || !attributes.is_empty() {
        match open_name(dir, name) {
            Ok(fd) => {
                let path = proc_path(fd.as_fd());
                xattrs(job, spot, &attributes, |name, value| {
                    fs::setxattr(&path, name, value, XattrFlags::empty())
                });
                if permissions {
                    let mode = allowed_mode(fd.as_fd(), inode);
                    let done =
                        mode.and_then(|mode| fs::chmodat(fs::CWD, &path, mode, AtFlags::empty()));
                    report(job, spot, "can't set the permissions", done);
                }
            }
            Err(error) => job.imperfect(error, spot),
        }
    }
    if job.options.times {
        let done = fs::utimensat(dir, name, &timestamps(inode), no_follow);
        report(job, spot, "can't set the times", done);
    }
}

/// Returns whether a file has the owner of the image, or owners are not restored.
fn owned(job: &Extraction<'_>, stat: &fs::Stat, inode: &Inode) -> bool {
    !job.options.owner || (stat.st_uid, stat.st_gid) == (inode.meta.uid, inode.meta.gid)
}

/// Returns whether an inode that has the right owner has the right permissions. Set-id bits are
/// always set anew.
fn has_mode(stat: &fs::Stat, inode: &Inode) -> bool {
    let mode = inode.meta.mode & 0o7777;
    mode & (SET_UID | SET_GID) == 0 && stat.st_mode & 0o7777 == u32::from(mode)
}

fn report(job: &Extraction<'_>, spot: Spot, what: &'static str, done: IoResult<()>) {
    if let Err(errno) = done {
        job.imperfect(Error::io(what, errno), spot);
    }
}

fn owner(
    job: &Extraction<'_>,
    spot: Spot,
    inode: &Inode,
    change: impl FnOnce(Option<Uid>, Option<Gid>) -> IoResult<()>,
) {
    if !job.options.owner {
        return;
    }
    // The kernel takes this number for "leave it".
    if inode.meta.uid == u32::MAX || inode.meta.gid == u32::MAX {
        let error = Error::corrupt(format!("{} can't be an owner or group", u32::MAX));
        return job.imperfect(error, spot);
    }
    let done = change(
        Some(Uid::from_raw(inode.meta.uid)),
        Some(Gid::from_raw(inode.meta.gid)),
    );
    report(job, spot, "can't set the owner", done);
}

/// Clears set-id bits that would grant the rights of another owner than that of the image.
fn allowed_mode(fd: BorrowedFd<'_>, inode: &Inode) -> IoResult<Mode> {
    let mut mode = inode.meta.mode & 0o7777;
    if mode & (SET_UID | SET_GID) != 0 {
        let stat = fs::fstat(fd)?;
        if stat.st_uid != inode.meta.uid {
            mode &= !SET_UID;
        }
        if stat.st_gid != inode.meta.gid {
            mode &= !SET_GID;
        }
    }
    Ok(Mode::from_raw_mode(u32::from(mode)))
}

/// Reads the extended attributes to restore.
fn attributes(job: &Extraction<'_>, spot: Spot, inode: &Inode) -> Xattrs {
    if !job.options.xattrs || !job.image.info().capability.xattrs {
        return Xattrs::new();
    }
    job.image.xattrs(inode.ino).unwrap_or_else(|error| {
        job.imperfect(error, spot);
        Xattrs::new()
    })
}

fn xattrs(
    job: &Extraction<'_>,
    spot: Spot,
    attributes: &Xattrs,
    set: impl Fn(&[u8], &[u8]) -> IoResult<()>,
) {
    for (name, value) in attributes {
        if let Err(errno) = set(name, value) {
            let name = String::from_utf8_lossy(name);
            job.imperfect(
                Error::io(format!("can't set the attribute {name}"), errno),
                spot,
            );
        }
    }
}

fn timestamps(inode: &Inode) -> Timestamps {
    let spec = |time: Time| Timespec {
        tv_sec: time.secs,
        // Larger numbers mean "now" and "leave it" to the kernel.
        tv_nsec: i64::from(time.nanos.min(999_999_999)),
    };
    let times = &inode.meta.times;
    Timestamps {
        last_access: spec(times.accessed),
        last_modification: spec(times.modified),
    }
}
