//! The directory that an extraction writes below.
//!
//! **Invariant:** every name is used relative to a directory that was reached from the root of
//! the target component by component, never through a symlink and never through `..`. So neither
//! a hostile image nor a symlink planted in the target leads a write out of it. Nothing else in
//! `extract` names files.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sinterfs_model::{Error, FileType, Inode, Kind, Result, Setting};
use sinterfs_platform::{Directory, KEEPS, OpenFor, SYMLINKS_HAVE_KINDS, process};

use super::lock::lock;
use super::new_file::{NewFile, Ticket};
use super::options::{ExtractOptions, Overwrite};
use crate::plan::{Plan, Spot};

/// The number of directories that are kept open.
const OPEN_DIRS: usize = 256;
/// How many of the directories above one that was not open are kept open on the way to it.
const OPEN_ABOVE: usize = 128;

/// Whether this system has all types of entries.
const KEEPS_ALL: bool = KEEPS.specials && !SYMLINKS_HAVE_KINDS;

const UNOPENED: &str = "can't open the directory";
const UNMADE: &str = "can't make the directory";
/// The root of the extraction, and the open directories below it.
#[derive(Debug)]
pub(crate) struct Target {
    root: Arc<Directory>,
    made_root: bool,
    overwrite: Overwrite,
    /// The initial permissions: for the owner alone until the final ones are set (a file that one
    /// thread writes may have them from the start, see `first_mode`), or what the umask leaves if
    /// none are set.
    dir_mode: u32,
    file_mode: u32,
    /// Whether permissions will be set.
    permissions: bool,
    /// The owner and group that new files have, and whether they will be changed.
    own: (u32, u32),
    chown: bool,
    made: Mutex<HashSet<u32>>,
    open: Mutex<OpenDirs>,
    temporary: AtomicU64,
    /// Names that are not made, by when the walk met them: another of the directory is the same one
    /// here.
    refused: HashSet<usize>,
}

/// Directories that are open, by their index in the plan; the oldest is closed first.
#[derive(Debug, Default)]
struct OpenDirs {
    fds: HashMap<u32, Arc<Directory>>,
    age: VecDeque<u32>,
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::io(what, error)
}

fn in_the_way(what: &'static str) -> Error {
    Error::new(Kind::Io, what)
}

/// Returns whether an error makes all further work pointless.
pub(crate) fn ends_all(error: &Error) -> bool {
    const FULL: [ErrorKind; 3] = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::ReadOnlyFilesystem,
    ];
    error.kind() == Kind::Cancelled || kind(error).is_some_and(|kind| FULL.contains(&kind))
}

/// Returns whether an error means that the file system cannot make this hard link.
pub(crate) fn no_links(error: &Error) -> bool {
    const NONE: [ErrorKind; 4] = [
        ErrorKind::TooManyLinks,
        ErrorKind::PermissionDenied,
        ErrorKind::Unsupported,
        ErrorKind::CrossesDevices,
    ];
    kind(error).is_some_and(|kind| NONE.contains(&kind))
}

/// Returns whether an error means that this system has no such entry.
pub(crate) fn is_impossible(error: &Error) -> bool {
    kind(error) == Some(ErrorKind::Unsupported) && !KEEPS_ALL
}

fn kind(error: &Error) -> Option<ErrorKind> {
    error.io_source().map(io::Error::kind)
}

impl Target {
    /// Opens the target directory, and makes it if it is missing.
    pub(crate) fn open(path: &Path, options: &ExtractOptions) -> Result<Self> {
        let overwrite = options.overwrite;
        let made_root = !path
            .try_exists()
            .map_err(|error| Error::io("stat failed", error))?;
        if made_root {
            let made = std::fs::create_dir_all(path);
            made.map_err(|error| Error::io("can't make the target", error).path(path))?;
        }
        let root = Directory::open(path, OpenFor::List);
        let root = root.map_err(|error| Error::io("can't open the target", error).path(path))?;
        let is_empty = || root.is_empty().map_err(failed("can't list the target"));
        if overwrite == Overwrite::Refuse && !is_empty()? {
            let option = Setting::Replace;
            let what = format!("the target is not empty; {option} replaces files in it");
            return Err(Error::invalid(what).about([option]).path(path));
        }
        Ok(Self {
            root: Arc::new(root),
            made_root,
            overwrite,
            dir_mode: if options.permissions { 0o700 } else { 0o777 },
            file_mode: if options.permissions { 0o600 } else { 0o666 },
            permissions: options.permissions,
            own: process::owner(),
            chown: options.owner,
            made: Mutex::new(HashSet::from([0])),
            open: Mutex::default(),
            temporary: AtomicU64::new(0),
            refused: HashSet::new(),
        })
    }

    /// Returns whether names that differ only in case are one file here.
    pub(crate) fn folds_case(&self) -> Result<bool> {
        let tried = self.root.folds_case();
        tried.map_err(failed("can't try out the names of the target"))
    }

    /// Makes these names fail, which the numbers of the walk name.
    pub(crate) fn refuse(&mut self, names: HashSet<usize>) {
        self.refused = names;
    }

    /// Returns how many names fail.
    pub(crate) fn refused_count(&self) -> u64 {
        self.refused.len() as u64
    }

    fn allow(&self, spot: Spot) -> Result<()> {
        if self.refused.contains(&spot.met()) {
            return Err(in_the_way(
                "another name of the directory differs only in case",
            ));
        }
        Ok(())
    }

    /// Opens the directory of a name.
    pub(crate) fn parent(&self, plan: &Plan, spot: Spot) -> Result<Arc<Directory>> {
        self.allow(spot)?;
        self.dir(plan, spot.dir)
    }

    /// Returns whether the target itself was missing.
    pub(crate) fn made_root(&self) -> bool {
        self.made_root
    }

    /// Returns whether new files most likely have the owner of an inode already.
    pub(crate) fn makes_for(&self, inode: &Inode) -> bool {
        !self.chown || self.own == (inode.meta.uid, inode.meta.gid)
    }

    /// Returns the initial permissions of a file that one thread writes: the final ones, if new
    /// files have the right owner and the group has no more rights than others.
    pub(crate) fn first_mode(&self, inode: &Inode) -> u32 {
        let mode = u32::from(inode.meta.mode);
        let plain = mode & 0o7000 == 0 && mode >> 3 & 7 == mode & 7;
        if self.permissions && plain && self.makes_for(inode) {
            mode
        } else {
            self.file_mode
        }
    }

    /// Returns the initial permissions of a file that several threads open.
    pub(crate) fn part_mode(&self) -> u32 {
        self.file_mode
    }

    /// Returns whether a directory of the plan was made.
    pub(crate) fn made_dir(&self, index: u32) -> bool {
        lock(&self.made).contains(&index)
    }

    /// Opens a directory of the plan for use with the other methods.
    pub(crate) fn dir(&self, plan: &Plan, index: u32) -> Result<Arc<Directory>> {
        let mut missing = Vec::new();
        let mut at = index;
        let mut here = loop {
            if at == 0 {
                break Arc::clone(&self.root);
            }
            if let Some(fd) = lock(&self.open).fds.get(&at) {
                break Arc::clone(fd);
            }
            missing.push(at);
            self.allow(plan.dir(at).spot)?;
            at = plan.dir(at).spot.dir;
        };
        if missing.len() > OPEN_ABOVE {
            let far = missing.split_off(OPEN_ABOVE);
            let names: Vec<&[u8]> = far.iter().rev().map(|&dir| name(plan, dir)).collect();
            let opened = here.beneath(&names.join(&b'/'), OpenFor::Walk);
            here = Arc::new(opened.map_err(failed(UNOPENED))?);
        }
        for &dir in missing.iter().rev() {
            let opened = here.child(name(plan, dir), OpenFor::Walk);
            here = Arc::new(opened.map_err(failed(UNOPENED))?);
            lock(&self.open).insert(dir, &here);
        }
        Ok(here)
    }

    /// Makes a directory of the plan whose parent is there; an existing directory is taken.
    pub(crate) fn make_dir(&self, plan: &Plan, index: u32) -> Result<()> {
        let parent = self.parent(plan, plan.dir(index).spot)?;
        let name = name(plan, index);
        match parent.make_dir(name, self.dir_mode) {
            Err(error) if !exists(&error) => return Err(failed(UNMADE)(error)),
            Err(_) if is_dir(&parent, name)? => {}
            Err(_) if self.overwrite == Overwrite::Replace => {
                remove(&parent, name)?;
                let made = parent.make_dir(name, self.dir_mode);
                made.map_err(failed(UNMADE))?;
            }
            Err(_) => return Err(in_the_way("a file that is not a directory is in the way")),
            Ok(()) => {}
        }
        lock(&self.made).insert(index);
        Ok(())
    }

    /// Opens a directory of the plan so that its metadata can be changed.
    pub(crate) fn reopen_dir(&self, plan: &Plan, index: u32) -> Result<Directory> {
        if index == 0 {
            return self
                .root
                .try_clone()
                .map_err(|error| Error::io("dup failed", error));
        }
        let parent = self.dir(plan, plan.dir(index).spot.dir)?;
        let opened = parent.child(name(plan, index), OpenFor::List);
        opened.map_err(failed(UNOPENED))
    }

    /// Creates a regular file; `None` if an existing one is kept. A file to replace stays until
    /// `publish`, so that a failure leaves it unchanged. One that is written in parts gets its name
    /// by `publish`, too: what is left of it by an extraction that was killed would look complete.
    pub(crate) fn make_file(
        &self,
        dir: &Directory,
        name: &[u8],
        mode: u32,
        in_parts: bool,
    ) -> Result<Option<NewFile>> {
        let made = if !in_parts {
            dir.make_file(name, mode)
        } else if is_free(dir, name)? {
            return self.make_temporary(dir, mode).map(Some);
        } else {
            Err(ErrorKind::AlreadyExists.into())
        };
        match made {
            Ok(file) => {
                let temporary = None;
                Ok(Some(NewFile { file, temporary }))
            }
            Err(error) if !exists(&error) => Err(failed("can't make the file")(error)),
            Err(_) => match self.overwrite {
                Overwrite::Keep => Ok(None),
                Overwrite::Refuse => Err(in_the_way("it exists already")),
                Overwrite::Replace => self.make_temporary(dir, mode).map(Some),
            },
        }
    }

    /// Opens a file again that `make_file` made.
    pub(crate) fn reopen(&self, dir: &Directory, name: &[u8], ticket: &Ticket) -> Result<NewFile> {
        let temporary = ticket.temporary.clone();
        let file = dir.open_to_write(temporary.as_deref().unwrap_or(name));
        let file = file.map_err(failed("can't open the file again"))?;
        let status = Directory::status_of(&file).map_err(failed("stat failed"))?;
        if status.identity != ticket.identity {
            return Err(in_the_way("another file has taken its place"));
        }
        Ok(NewFile { file, temporary })
    }

    /// Renames a complete file to its final name.
    pub(crate) fn publish(&self, dir: &Directory, name: &[u8], new: &NewFile) -> Result<()> {
        let Some(temporary) = &new.temporary else {
            return Ok(());
        };
        if self.overwrite == Overwrite::Replace {
            return replace(dir, temporary, name);
        }
        match dir.link(temporary, dir, name) {
            Ok(()) => remove(dir, temporary),
            Err(error) if exists(&error) => Err(in_the_way("it exists already")),
            // the file system has no links
            Err(_) => replace(dir, temporary, name),
        }
    }

    /// Removes a partial file; it is no error if it does not exist.
    pub(crate) fn discard(&self, dir: &Directory, name: &[u8], ticket: &Ticket) -> Result<()> {
        let name = ticket.temporary.as_deref().unwrap_or(name);
        match dir.remove(name) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("can't remove the partial file", error))
            }
            _ => Ok(()),
        }
    }

    /// Makes a symlink; `false` if an existing file is kept. `leads_to_dir` says what its target
    /// is, where symlinks differ by that.
    pub(crate) fn make_symlink(
        &self,
        dir: &Directory,
        name: &[u8],
        text: &[u8],
        leads_to_dir: bool,
    ) -> Result<bool> {
        self.make(dir, name, "can't make the symlink", |name| {
            dir.make_symlink(name, text, leads_to_dir)
        })
    }

    /// Makes a device, fifo or socket; `false` if an existing file is kept.
    pub(crate) fn make_special(&self, dir: &Directory, name: &[u8], inode: &Inode) -> Result<bool> {
        self.make(dir, name, "can't make the special file", |name| {
            dir.make_special(name, inode.kind, self.file_mode, inode.rdev)
        })
    }

    /// Makes a hard link; `false` if an existing file is kept.
    pub(crate) fn make_link(
        &self,
        from: &Directory,
        old: &[u8],
        dir: &Directory,
        name: &[u8],
    ) -> Result<bool> {
        self.make(dir, name, "can't make the hard link", |name| {
            from.link(old, dir, name)
        })
    }

    /// Creates a regular file under a name that nothing has.
    fn make_temporary(&self, dir: &Directory, mode: u32) -> Result<NewFile> {
        let made = self.under_temporary_name(|name| dir.make_file(name, mode));
        let (name, file) = made.map_err(failed("can't make the file"))?;
        let temporary = Some(name);
        Ok(NewFile { file, temporary })
    }

    /// Makes an entry under a name that nothing has; returns the name, too.
    fn under_temporary_name<T>(
        &self,
        make: impl Fn(&[u8]) -> io::Result<T>,
    ) -> io::Result<(Vec<u8>, T)> {
        loop {
            let number = self.temporary.fetch_add(1, Ordering::Relaxed);
            let name = format!(".sinter-{}-{number}", std::process::id()).into_bytes();
            match make(&name) {
                // an extraction that was killed has left it
                Err(error) if exists(&error) => {}
                made => return made.map(|made| (name, made)),
            }
        }
    }

    fn make(
        &self,
        dir: &Directory,
        name: &[u8],
        what: &'static str,
        attempt: impl Fn(&[u8]) -> io::Result<()>,
    ) -> Result<bool> {
        match (attempt(name), self.overwrite) {
            (Err(error), _) if !exists(&error) => Err(failed(what)(error)),
            (Err(_), Overwrite::Keep) => return Ok(false),
            (Err(_), Overwrite::Refuse) => Err(in_the_way("it exists already")),
            (Err(_), Overwrite::Replace) => {
                let made = self.under_temporary_name(&attempt);
                let (temporary, ()) = made.map_err(failed(what))?;
                replace(dir, &temporary, name)?;
                // where both names are of one file, nothing was renamed
                remove(dir, &temporary)
            }
            (Ok(()), _) => Ok(()),
        }?;
        Ok(true)
    }
}

/// Renames a complete entry to its final name, over another one that is no directory.
fn replace(dir: &Directory, temporary: &[u8], name: &[u8]) -> Result<()> {
    let renamed = dir.rename(temporary, name);
    renamed.map_err(|error| {
        // the error that counts is the one of the name
        let _ = dir.remove(temporary);
        match error.kind() {
            ErrorKind::IsADirectory => in_the_way("a directory is in the way"),
            _ => Error::io("can't replace the file", error),
        }
    })
}

impl OpenDirs {
    fn insert(&mut self, index: u32, fd: &Arc<Directory>) {
        if self.fds.insert(index, Arc::clone(fd)).is_none() {
            self.age.push_back(index);
        }
        while self.age.len() > OPEN_DIRS {
            if let Some(oldest) = self.age.pop_front() {
                self.fds.remove(&oldest);
            }
        }
    }
}

fn name(plan: &Plan, dir: u32) -> &[u8] {
    plan.name(plan.dir(dir).spot)
}

fn exists(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists
}

fn remove(dir: &Directory, name: &[u8]) -> Result<()> {
    match dir.remove(name) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            Err(in_the_way("a directory is in the way"))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("can't remove the file in the way", error))
        }
        _ => Ok(()),
    }
}

fn is_free(dir: &Directory, name: &[u8]) -> Result<bool> {
    match dir.status(name) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(failed("stat failed")(error)),
    }
}

fn is_dir(dir: &Directory, name: &[u8]) -> Result<bool> {
    let status = dir.status(name).map_err(failed("stat failed"))?;
    Ok(status.kind == Some(FileType::Directory))
}
