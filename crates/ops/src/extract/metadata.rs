//! Sets owner, permissions, attributes and times of restored files, in this order: a change of
//! owner clears set-id bits and capabilities, and everything changes times.
//!
//! **Invariant:** what cannot be set is reported and counted, and never fails the entry; set-id
//! bits are set only on a file that has the owner (or group) that the image gives them. If
//! permissions are not restored, nothing that grants access is set: a file is never more accessible
//! than in the image.

use std::fs::File;
use std::io::{Error as IoError, ErrorKind, Result as IoResult};

use sinterfs_model::{Error, FileType, Inode, Kind, Time, Times, Xattrs};
use sinterfs_platform::xattrs::Attributes;
use sinterfs_platform::{Directory, KEEPS, OpenFor, Status, files, xattrs};

use super::job::Extraction;
use crate::plan::{Item, NameRef};

const UNSET_MODE: &str = "can't set the permissions";
const SET_UID: u16 = 0o4000;
const SET_GID: u16 = 0o2000;
const OWNER_WRITES: u16 = 0o200;
/// Attributes that give no rights.
const OF_USERS: &[u8] = b"user.";

/// Restores metadata of an open file or directory.
pub(crate) fn of_open(job: &Extraction<'_>, file: &File, name_ref: NameRef, inode: &Inode) {
    // the mode comes last: by it, a later extraction knows a directory that a killed one left
    if job.options.times {
        let done = files::set_times(file, &times(job, inode));
        report(job, name_ref, "can't set the times", done);
    }
    // one stat shows what is right already, and costs less than a change
    let look = job
        .target
        .makes_for(inode)
        .then(|| Directory::status_of(file));
    let found = look
        .and_then(IoResult::ok)
        .filter(|status| owned(job, status, inode));
    if found.is_none() {
        owner(job, name_ref, inode, |uid, gid| {
            files::set_owner(file, uid, gid)
        });
    }
    job.note_unkept(name_ref, inode);
    job.note_owner(name_ref, inode);
    let attributes = attributes(job, name_ref, inode);
    let writable = inode.meta.mode & OWNER_WRITES != 0 || inode.kind != FileType::File;
    if !writable && job.options.permissions && !attributes.is_empty() {
        // attributes can be set only on writable files; a failure is reported with them
        let _ = files::set_mode(file, 0o600);
    }
    set_xattrs(job, name_ref, &attributes, |name, value| {
        xattrs::set(file, name, value)
    });
    let found = found.filter(|_| attributes.is_empty());
    if job.options.permissions {
        if !found.is_some_and(|status| has_mode(&status, inode)) {
            set_mode_of_open(job, file, name_ref, inode);
        }
    } else if KEEPS.modes && !job.options.usual_modes {
        report(job, name_ref, UNSET_MODE, narrow(file, inode));
    }
}

fn set_mode_of_open(job: &Extraction<'_>, file: &File, name_ref: NameRef, inode: &Inode) {
    let found = || Directory::status_of(file);
    let done = allowed_mode(inode, found).and_then(|mode| {
        files::set_mode(file, mode.into())?;
        // of a group that this process is not in, the system drops the bit
        if mode & (SET_UID | SET_GID) == 0 {
            return Ok(mode);
        }
        Ok(mode & (!(SET_UID | SET_GID) | found()?.meta.mode))
    });
    match done {
        Ok(mode) => job.note_set_id(name_ref, inode, mode),
        Err(error) => job.unset(UNSET_MODE, &error, name_ref),
    }
}

/// Takes the rights that a file has only while it is written.
fn narrow(file: &File, inode: &Inode) -> IoResult<()> {
    let needed = match inode.kind {
        FileType::Directory => 0o700,
        _ => 0o600,
    };
    if inode.meta.mode & needed == needed {
        return Ok(());
    }
    let mode = Directory::status_of(file)?.meta.mode & inode.meta.mode & 0o777;
    files::set_mode(file, mode.into())
}

/// Restores metadata by name, of symlinks, devices, fifos and sockets, which are not opened.
pub(crate) fn of_name(job: &Extraction<'_>, dir: &Directory, item: &Item, inode: &Inode) {
    let (name_ref, name) = (item.name_ref, job.plan.name(item.name_ref));
    let look = job.target.makes_for(inode).then(|| dir.status(name));
    if !matches!(look, Some(Ok(status)) if owned(job, &status, inode)) {
        owner(job, name_ref, inode, |uid, gid| {
            dir.set_owner(name, uid, gid)
        });
    }
    job.note_unkept(name_ref, inode);
    job.note_owner(name_ref, inode);
    let attributes = attributes(job, name_ref, inode);
    if !attributes.is_empty() {
        match Attributes::of(dir, name) {
            Ok(file) => set_xattrs(job, name_ref, &attributes, |name, value| {
                file.set(name, value)
            }),
            Err(error) => report(job, name_ref, "can't set the attributes", Err(error)),
        }
    }
    if job.options.permissions && inode.kind != FileType::Symlink {
        match set_mode_of_name(dir, name, inode) {
            Ok(mode) => job.note_set_id(name_ref, inode, mode),
            Err(error) => job.unset(UNSET_MODE, &error, name_ref),
        }
    }
    if job.options.times {
        let done = dir.set_times(name, &times(job, inode));
        report(job, name_ref, "can't set the times", done);
    }
}

/// Sets the permissions of a device, fifo or socket: of the file whose owner is checked, and of no
/// other that got its name meanwhile. Returns the permissions.
fn set_mode_of_name(dir: &Directory, name: &[u8], inode: &Inode) -> IoResult<u16> {
    let file = dir.open_beneath(name, OpenFor::Look)?;
    let found = Directory::status_of(&file)?;
    if found.kind != Some(inode.kind) {
        let what = "another file has taken its place";
        return Err(IoError::new(ErrorKind::AlreadyExists, what));
    }
    let mode = allowed_mode(inode, || Ok(found))?;
    Directory::set_mode_of(&file, mode.into())?;
    Ok(mode)
}

/// Returns whether a file has the owner of the image, or owners are not restored.
fn owned(job: &Extraction<'_>, status: &Status, inode: &Inode) -> bool {
    !job.options.owner || (status.meta.uid, status.meta.gid) == (inode.meta.uid, inode.meta.gid)
}

/// Returns whether an inode that has the right owner has the right permissions. Set-id bits are
/// always set again.
fn has_mode(status: &Status, inode: &Inode) -> bool {
    let mode = inode.meta.mode & 0o7777;
    mode & (SET_UID | SET_GID) == 0 && status.meta.mode & 0o7777 == mode
}

impl Extraction<'_> {
    /// Counts an entry whose owner is not restored.
    fn note_owner(&self, name_ref: NameRef, inode: &Inode) {
        if self.options.owner || !KEEPS.owners || self.target.makes_as(inode) {
            return;
        }
        self.counts.add(|counts| counts.unowned += 1);
        if self.options.report_owner {
            let what = "the owner is not restored, which only root may do";
            self.not_restored
                .add(what.to_owned(), Kind::Unsupported, name_ref);
        }
    }

    /// Counts an entry that got other set-id bits than the image has.
    fn note_set_id(&self, name_ref: NameRef, inode: &Inode, mode: u16) {
        if inode.meta.mode & !mode & (SET_UID | SET_GID) == 0 {
            return;
        }
        self.counts.add(|counts| counts.without_set_id += 1);
        let what = "permission to run as the owner or group (set-id) is not restored: the owner \
                    or group differs from the image";
        self.not_restored
            .add(what.to_owned(), Kind::Unsupported, name_ref);
    }
}

fn report(job: &Extraction<'_>, name_ref: NameRef, what: &'static str, done: IoResult<()>) {
    if let Err(error) = done {
        job.unset(what, &error, name_ref);
    }
}

fn owner(
    job: &Extraction<'_>,
    name_ref: NameRef,
    inode: &Inode,
    change: impl FnOnce(u32, u32) -> IoResult<()>,
) {
    if !job.options.owner || !KEEPS.owners {
        return;
    }
    // The kernel takes this number for "leave it".
    if inode.meta.uid == u32::MAX || inode.meta.gid == u32::MAX {
        let error = Error::corrupt(format!("{} can't be an owner or group", u32::MAX));
        return job.imperfect(error, name_ref);
    }
    let done = change(inode.meta.uid, inode.meta.gid);
    report(job, name_ref, "can't set the owner", done);
}

/// Clears set-id bits that would grant the permissions of an owner other than the image's.
fn allowed_mode(inode: &Inode, status: impl FnOnce() -> IoResult<Status>) -> IoResult<u16> {
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
    Ok(mode)
}

/// Reads the extended attributes to restore.
fn attributes(job: &Extraction<'_>, name_ref: NameRef, inode: &Inode) -> Xattrs {
    if !job.options.xattrs || !KEEPS.xattrs || !job.image.info().capability.xattrs {
        return Xattrs::new();
    }
    let mut found = job.image.xattrs(inode.ino).unwrap_or_else(|error| {
        job.imperfect(error, name_ref);
        Xattrs::new()
    });
    if !job.options.permissions && !job.options.rights {
        found.retain(|(name, _)| name.starts_with(OF_USERS));
    }
    found
}

fn set_xattrs(
    job: &Extraction<'_>,
    name_ref: NameRef,
    attributes: &Xattrs,
    set: impl Fn(&[u8], &[u8]) -> IoResult<()>,
) {
    for (name, value) in attributes {
        if let Err(error) = set(name, value) {
            let name = String::from_utf8_lossy(name);
            job.unset(&format!("can't set the attribute {name}"), &error, name_ref);
        }
    }
}

/// Returns the times that an entry gets: from the image, or the time set by the options.
fn times(job: &Extraction<'_>, inode: &Inode) -> Times {
    let given = job
        .options
        .time
        .map(|secs| Times::all(Time { secs, nanos: 0 }));
    given.unwrap_or(inode.meta.times)
}
