//! Sets owner, permissions, attributes and times of restored files, in this order: a change of
//! owner clears set-id bits and capabilities, and everything changes times.
//!
//! **Invariant:** what cannot be set is reported and counted, and never fails the entry; set-id
//! bits are set only on a file that has the owner (or group) that the image gives them.

use std::fs::File;
use std::io::{Error as IoError, ErrorKind, Result as IoResult};

use sinterfs_model::{Error, FileType, Inode, Time, Times, Xattrs};
use sinterfs_platform::xattrs::Attributes;
use sinterfs_platform::{Directory, KEEPS, OpenFor, Status, files, xattrs};

use super::job::Extraction;
use crate::plan::{Item, Spot};

const SET_UID: u16 = 0o4000;
const SET_GID: u16 = 0o2000;
const OWNER_WRITES: u16 = 0o200;

/// Restores metadata of an open file or directory.
pub(crate) fn of_open(job: &Extraction<'_>, file: &File, spot: Spot, inode: &Inode) {
    // one stat shows what is right already, and costs less than a change
    let look = job
        .target
        .makes_for(inode)
        .then(|| Directory::status_of(file));
    let found = look
        .and_then(IoResult::ok)
        .filter(|status| owned(job, status, inode));
    if found.is_none() {
        owner(job, spot, inode, |uid, gid| {
            files::set_owner(file, uid, gid)
        });
    }
    job.note_unkept(spot, inode);
    let attributes = attributes(job, spot, inode);
    let writable = inode.meta.mode & OWNER_WRITES != 0 || inode.kind != FileType::File;
    if !writable && job.options.permissions && !attributes.is_empty() {
        // attributes can be set only on writable files; a failure is reported with them
        let _ = files::set_mode(file, 0o600);
    }
    set_xattrs(job, spot, &attributes, |name, value| {
        xattrs::set(file, name, value)
    });
    let found = found.filter(|_| attributes.is_empty());
    if job.options.permissions && !found.is_some_and(|status| has_mode(&status, inode)) {
        let done = allowed_mode(inode, || Directory::status_of(file));
        let done = done.and_then(|mode| files::set_mode(file, mode));
        report(job, spot, "can't set the permissions", done);
    }
    if job.options.times {
        let done = files::set_times(file, &times(job, inode));
        report(job, spot, "can't set the times", done);
    }
}

/// Restores metadata by name, of symlinks, devices, fifos and sockets, which are not opened.
pub(crate) fn of_name(job: &Extraction<'_>, dir: &Directory, item: &Item, inode: &Inode) {
    let (spot, name) = (item.spot, job.plan.name(item.spot));
    let look = job.target.makes_for(inode).then(|| dir.status(name));
    if !matches!(look, Some(Ok(status)) if owned(job, &status, inode)) {
        owner(job, spot, inode, |uid, gid| dir.set_owner(name, uid, gid));
    }
    job.note_unkept(spot, inode);
    let attributes = attributes(job, spot, inode);
    if !attributes.is_empty() {
        match Attributes::of(dir, name) {
            Ok(file) => set_xattrs(job, spot, &attributes, |name, value| file.set(name, value)),
            Err(error) => report(job, spot, "can't set the attributes", Err(error)),
        }
    }
    if job.options.permissions && inode.kind != FileType::Symlink {
        let done = set_mode_of_name(dir, name, inode);
        report(job, spot, "can't set the permissions", done);
    }
    if job.options.times {
        let done = dir.set_times(name, &times(job, inode));
        report(job, spot, "can't set the times", done);
    }
}

/// Sets the permissions of a device, fifo or socket: of the file whose owner is checked, and of no
/// other that got its name meanwhile.
fn set_mode_of_name(dir: &Directory, name: &[u8], inode: &Inode) -> IoResult<()> {
    let file = dir.open_beneath(name, OpenFor::Look)?;
    let found = Directory::status_of(&file)?;
    if found.kind != Some(inode.kind) {
        let what = "another file has taken its place";
        return Err(IoError::new(ErrorKind::AlreadyExists, what));
    }
    let mode = allowed_mode(inode, || Ok(found))?;
    Directory::set_mode_of(&file, mode)
}

/// Returns whether a file has the owner of the image, or owners are not restored.
fn owned(job: &Extraction<'_>, status: &Status, inode: &Inode) -> bool {
    !job.options.owner || (status.meta.uid, status.meta.gid) == (inode.meta.uid, inode.meta.gid)
}

/// Returns whether an inode that has the right owner has the right permissions. Set-id bits are
/// always set anew.
fn has_mode(status: &Status, inode: &Inode) -> bool {
    let mode = inode.meta.mode & 0o7777;
    mode & (SET_UID | SET_GID) == 0 && status.meta.mode & 0o7777 == mode
}

fn report(job: &Extraction<'_>, spot: Spot, what: &'static str, done: IoResult<()>) {
    if let Err(error) = done {
        job.imperfect(Error::io(what, error), spot);
    }
}

fn owner(
    job: &Extraction<'_>,
    spot: Spot,
    inode: &Inode,
    change: impl FnOnce(u32, u32) -> IoResult<()>,
) {
    if !job.options.owner || !KEEPS.owners {
        return;
    }
    // The kernel takes this number for "leave it".
    if inode.meta.uid == u32::MAX || inode.meta.gid == u32::MAX {
        let error = Error::corrupt(format!("{} can't be an owner or group", u32::MAX));
        return job.imperfect(error, spot);
    }
    let done = change(inode.meta.uid, inode.meta.gid);
    report(job, spot, "can't set the owner", done);
}

/// Clears set-id bits that would grant the rights of another owner than that of the image.
fn allowed_mode(inode: &Inode, status: impl FnOnce() -> IoResult<Status>) -> IoResult<u32> {
    let mut mode = inode.meta.mode & 0o7777;
    if KEEPS.owners && mode & (SET_UID | SET_GID) != 0 {
        let found = status()?.meta;
        if found.uid != inode.meta.uid {
            mode &= !SET_UID;
        }
        if found.gid != inode.meta.gid {
            mode &= !SET_GID;
        }
    }
    Ok(mode.into())
}

/// Reads the extended attributes to restore.
fn attributes(job: &Extraction<'_>, spot: Spot, inode: &Inode) -> Xattrs {
    if !job.options.xattrs || !KEEPS.xattrs || !job.image.info().capability.xattrs {
        return Xattrs::new();
    }
    job.image.xattrs(inode.ino).unwrap_or_else(|error| {
        job.imperfect(error, spot);
        Xattrs::new()
    })
}

fn set_xattrs(
    job: &Extraction<'_>,
    spot: Spot,
    attributes: &Xattrs,
    set: impl Fn(&[u8], &[u8]) -> IoResult<()>,
) {
    for (name, value) in attributes {
        if let Err(error) = set(name, value) {
            let name = String::from_utf8_lossy(name);
            let what = format!("can't set the attribute {name}");
            job.imperfect(Error::io(what, error), spot);
        }
    }
}

/// Returns the times that an entry gets: those of the image, or the one that was asked for.
fn times(job: &Extraction<'_>, inode: &Inode) -> Times {
    let given = job
        .options
        .time
        .map(|secs| Times::all(Time { secs, nanos: 0 }));
    given.unwrap_or(inode.meta.times)
}
