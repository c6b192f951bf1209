//! The directory that an extraction writes below.
//!
//! **Invariant:** every name is used relative to a directory that was reached from the root of
//! the target component by component, never through a symlink and never through `..`. So neither
//! a hostile image nor a symlink planted in the target leads a write out of it. Nothing else in
//! `extract` names files.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use sinterfs_model::{Error, Inode, Rdev, Result, Setting};
use sinterfs_platform::{Directory, KEEPS, OpenFor, Status, files, names, process};

use super::errors::{exists, failed, in_the_way};
use super::hidden_dirs::HiddenDirs;
use super::leftovers::{Leftovers, hidden_name};
use super::lock::lock;
use super::new_file::{NewFile, Published, Ticket};
use super::open_dirs::{LEVELS_PER_TIER, OpenDirs};
use super::options::{ExtractOptions, Overwrite};
use crate::plan::{NameRef, Plan};

/// The number of directories that are opened one by one on the path to a closed one.
const ONE_BY_ONE: usize = 2 * LEVELS_PER_TIER as usize;

/// The permissions of a directory until its final ones are set, as far as no directory that a user
/// made has them: a directory that a killed extraction left is recognized by them, and completed.
const UNFINISHED: u32 = 0o1700;
/// The attributes that a directory may inherit from its parent.
const SET_GID: u16 = 0o2000;

const UNOPENED: &str = "can't open the directory";
const UNMADE_FILE: &str = "can't make the file";

/// The origin of a directory of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// It was made, and holds nothing of others.
    New,
    /// It was there, and gets the metadata of the image.
    Merged,
    /// It was there, and keeps its metadata.
    Kept,
}

/// The root of the extraction, and the open directories below it.
#[derive(Debug)]
pub(crate) struct Target {
    root: Arc<Directory>,
    made_root: bool,
    pub(super) overwrite: Overwrite,
    /// Whether permissions will be set. Then the initial permissions are for the owner only until
    /// the final ones are set (a file that one thread writes may have them from the start, see
    /// `first_mode`), otherwise the image's, less the umask.
    permissions: bool,
    usual_modes: bool,
    /// The owner and group that new files have, and whether they will be changed.
    own: (u32, u32),
    chown: bool,
    pub(super) came: Mutex<HashMap<u32, Came>>,
    open: Mutex<OpenDirs>,
    leftovers: Leftovers,
    pub(super) hidden: HiddenDirs,
    /// The file systems that are written to, each with a directory on it.
    pub(super) file_systems: Mutex<HashMap<Rdev, u32>>,
    /// Names that are not made, by when the walk met them: another is the same one here.
    refused: HashSet<usize>,
}

impl Target {
    /// Opens the target directory, and makes it if it is missing.
    pub(crate) fn open(path: &Path, plan: &Plan, options: &ExtractOptions) -> Result<Self> {
        let overwrite = options.overwrite;
        let made_root = !path
            .try_exists()
            .map_err(|error| Error::io("stat failed", error))?;
        if made_root {
            let made = make_root(path, options.permissions);
            made.map_err(|error| Error::io("can't make the target", error).path(path))?;
        }
        let root = Directory::open(path, OpenFor::List);
        let root = root.map_err(|error| Error::io("can't open the target", error).path(path))?;
        let leftovers = Leftovers::new(&root);
        let is_empty = || root.is_empty().map_err(failed("can't list the target"));
        if overwrite == Overwrite::Refuse && !made_root && !is_empty()? {
            leftovers.remove(&root, &root, None);
        }
        let found = Directory::status_of(root.as_file()).map_err(failed("stat failed"))?;
        let came = match overwrite {
            _ if made_root => Came::New,
            // it is empty
            Overwrite::Refuse => Came::New,
            Overwrite::Keep if !is_unfinished(&found) => Came::Kept,
            _ => Came::Merged,
        };
        if overwrite == Overwrite::Refuse && !is_empty()? {
            let option = Setting("replace");
            let what = format!("the target is not empty; {option} replaces files in it");
            return Err(Error::invalid(what).about([option]).path(path));
        }
        Ok(Self {
            root: Arc::new(root),
            made_root: made_root || is_unfinished(&found),
            overwrite,
            permissions: options.permissions,
            usual_modes: options.usual_modes,
            own: process::owner(),
            chown: options.owner,
            came: Mutex::new(HashMap::from([(0, came)])),
            open: Mutex::default(),
            leftovers,
            hidden: HiddenDirs::new(plan),
            file_systems: Mutex::new(HashMap::from([(found.identity.device, 0)])),
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

    fn allow(&self, name_ref: NameRef) -> Result<()> {
        if self.refused.contains(&name_ref.order()) {
            return Err(in_the_way(
                "another name of the directory differs only in case",
            ));
        }
        Ok(())
    }

    /// Opens the directory of a name.
    pub(crate) fn parent(&self, plan: &Plan, name_ref: NameRef) -> Result<Arc<Directory>> {
        self.allow(name_ref)?;
        self.dir(plan, name_ref.dir)
    }

    /// Returns whether the target itself was missing, or was not finished.
    pub(crate) fn made_root(&self) -> bool {
        self.made_root
    }

    /// Returns whether new files most likely have the owner of an inode already.
    pub(crate) fn makes_for(&self, inode: &Inode) -> bool {
        !self.chown || self.own == (inode.meta.uid, inode.meta.gid)
    }

    /// Returns whether this process owns an inode.
    pub(crate) fn makes_as(&self, inode: &Inode) -> bool {
        self.own == (inode.meta.uid, inode.meta.gid)
    }

    /// Returns the initial permissions of a file that one thread writes: the final ones, if new
    /// files have the right owner and the group has no more rights than others.
    pub(crate) fn first_mode(&self, inode: &Inode) -> u32 {
        let mode = u32::from(inode.meta.mode);
        let plain = mode & 0o7000 == 0 && mode >> 3 & 7 == mode & 7;
        if self.permissions && plain && self.makes_for(inode) {
            mode
        } else {
            self.part_mode(inode)
        }
    }

    /// Returns the initial permissions of a file that several threads open.
    pub(crate) fn part_mode(&self, inode: &Inode) -> u32 {
        self.mode_of(inode, 0o666) | 0o600
    }

    fn mode_of(&self, inode: &Inode, usual: u32) -> u32 {
        let mode = u32::from(inode.meta.mode) & 0o777;
        let mode = if self.usual_modes { usual } else { mode };
        if self.permissions { 0 } else { mode }
    }

    pub(super) fn dir_mode(&self, inode: &Inode) -> u32 {
        if self.permissions {
            UNFINISHED
        } else {
            self.mode_of(inode, 0o777) | 0o700
        }
    }

    /// Returns whether a directory that is there is one that a killed extraction left.
    pub(super) fn is_to_be_finished(&self, found: &Status) -> bool {
        self.permissions && is_unfinished(found)
    }

    /// Returns how a directory of the plan came to be; `None` if it could not be made.
    pub(crate) fn came(&self, index: u32) -> Option<Came> {
        lock(&self.came).get(&index).copied()
    }

    /// Opens a directory of the plan for use with the other methods.
    pub(crate) fn dir(&self, plan: &Plan, index: u32) -> Result<Arc<Directory>> {
        let mut way = Vec::new();
        let mut at = index;
        let mut here = loop {
            if at == 0 {
                break Arc::clone(&self.root);
            }
            if let Some(fd) = lock(&self.open).get(at) {
                break fd;
            }
            way.push(at);
            self.allow(plan.dir(at).name_ref)?;
            at = plan.dir(at).name_ref.dir;
        };
        way.reverse();
        let mut way = &way[..];
        while let Some(&next) = way.first() {
            let mut count = 1;
            if way.len() > ONE_BY_ONE {
                // to the next level of those that stay open longer
                let step = LEVELS_PER_TIER - (plan.depth(next) - 1) % LEVELS_PER_TIER;
                count = step as usize;
            }
            let (names, after) = way.split_at(count.min(way.len()));
            let last = names.last().copied().unwrap_or(next);
            let opened = match names {
                [only] => here.child(&self.name_now(plan, *only), OpenFor::Walk),
                _ => {
                    let now = |&dir: &u32| self.name_now(plan, dir);
                    let names: Vec<Cow<'_, [u8]>> = names.iter().map(now).collect();
                    here.beneath(&names.join(&b'/'), OpenFor::Walk)
                }
            };
            here = Arc::new(opened.map_err(failed(UNOPENED))?);
            lock(&self.open).insert(last, plan.depth(last), &here);
            way = after;
        }
        Ok(here)
    }

    /// Returns the name that a directory has until it is complete, or then.
    fn name_now<'p>(&self, plan: &'p Plan, dir: u32) -> Cow<'p, [u8]> {
        match self.hidden.name(dir) {
            Some(hidden) => hidden.into(),
            None => name(plan, dir).into(),
        }
    }

    /// Makes all that was written durable; `false` where the system has no call for that.
    pub(crate) fn sync(&self, plan: &Plan) -> Result<bool> {
        let dirs: Vec<u32> = lock(&self.file_systems).values().copied().collect();
        let mut is_synced = true;
        for index in dirs {
            let dir = self.reopen_dir(plan, index)?;
            let done = files::sync_file_system(dir.as_file());
            is_synced &= done.map_err(failed("can't write everything to the disk"))?;
        }
        Ok(is_synced)
    }

    /// Removes what killed extractions left in a directory of the plan that was there.
    pub(crate) fn remove_leftovers(&self, plan: &Plan, index: u32, dir: &Directory) {
        if self.came(index).is_some_and(|came| came != Came::New) {
            self.leftovers.remove(&self.root, dir, Some((plan, index)));
        }
    }

    /// Opens a directory of the plan so that its metadata can be changed.
    pub(crate) fn reopen_dir(&self, plan: &Plan, index: u32) -> Result<Directory> {
        if index == 0 {
            return self
                .root
                .try_clone()
                .map_err(|error| Error::io("dup failed", error));
        }
        let parent = self.dir(plan, plan.dir(index).name_ref.dir)?;
        let opened = parent.child(&self.name_now(plan, index), OpenFor::List);
        opened.map_err(failed(UNOPENED))
    }

    /// Creates a regular file, under a hidden name unless its directory is hidden; `None` if an
    /// existing one is kept. A file to replace stays until `publish`, so that a failure leaves it
    /// unchanged.
    pub(crate) fn make_file(
        &self,
        dir: &Directory,
        name_ref: NameRef,
        name: &[u8],
        mode: u32,
    ) -> Result<Option<NewFile>> {
        if self.hidden.top(name_ref.dir).is_some() {
            match dir.make_file(name, mode) {
                Err(error) if exists(&error) => {}
                made => {
                    let file = made.map_err(failed(UNMADE_FILE))?;
                    return Ok(Some(NewFile { file, hidden: None }));
                }
            }
        }
        let is_new = || self.came(name_ref.dir) == Some(Came::New);
        if self.overwrite != Overwrite::Replace && !is_new() && !is_free(dir, name)? {
            return match self.overwrite {
                Overwrite::Keep => Ok(None),
                _ => Err(in_the_way("it exists already")),
            };
        }
        let made = under_hidden_name(hidden_name, |name| dir.make_file(name, mode));
        let (hidden, file) = made.map_err(failed(UNMADE_FILE))?;
        let hidden = Some(hidden);
        Ok(Some(NewFile { file, hidden }))
    }

    /// Opens a file again that `make_file` made.
    pub(crate) fn reopen(&self, dir: &Directory, name: &[u8], ticket: &Ticket) -> Result<NewFile> {
        let file = dir.open_to_write(ticket.name_now(name));
        let file = file.map_err(failed("can't open the file again"))?;
        let status = Directory::status_of(&file).map_err(failed("stat failed"))?;
        if status.identity != ticket.identity {
            return Err(in_the_way("another file has taken its place"));
        }
        let hidden = ticket.hidden.clone();
        Ok(NewFile { file, hidden })
    }

    /// Renames a complete file to its final name.
    pub(crate) fn publish(&self, dir: &Directory, name: &[u8], new: &NewFile) -> Result<Published> {
        let Some(hidden) = &new.hidden else {
            return Ok(Published::New);
        };
        match dir.rename_new(hidden, name) {
            Ok(()) => Ok(Published::New),
            Err(error) if !exists(&error) => Err(failed("can't give the file its name")(error)),
            Err(_) => match self.overwrite {
                Overwrite::Refuse => Err(in_the_way("it exists already")),
                Overwrite::Keep => {
                    self.discard(dir, hidden)?;
                    Ok(Published::Kept)
                }
                Overwrite::Replace => {
                    // the old file is lost only for one that is known to be whole
                    files::flush(&new.file).map_err(failed("can't write the file"))?;
                    replace(dir, hidden, name)?;
                    Ok(Published::Replaced)
                }
            },
        }
    }

    /// Removes a partial file; it is no error if it does not exist.
    pub(crate) fn discard(&self, dir: &Directory, name: &[u8]) -> Result<()> {
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
        let final_mode = self.mode_of(inode, 0o666);
        let mode = if self.permissions { 0o600 } else { final_mode };
        self.make(dir, name, "can't make the special file", |name| {
            dir.make_special(name, inode.kind, mode, inode.rdev)
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
                let made = under_hidden_name(hidden_name, &attempt);
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

/// Makes the target, and what is above it.
fn make_root(path: &Path, permissions: bool) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return std::fs::create_dir_all(path);
    };
    if !permissions {
        return std::fs::create_dir_all(path);
    }
    let is_here = above.as_os_str().is_empty();
    let above = if is_here { Path::new(".") } else { above };
    std::fs::create_dir_all(above)?;
    let above = Directory::open(above, OpenFor::Walk)?;
    match above.make_dir(&names::bytes(name), UNFINISHED) {
        Err(error) if !exists(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Makes an entry under a hidden name that nothing has; returns the name, too.
pub(super) fn under_hidden_name<T>(
    hidden_name: impl Fn() -> Vec<u8>,
    make: impl Fn(&[u8]) -> io::Result<T>,
) -> io::Result<(Vec<u8>, T)> {
    loop {
        let name = hidden_name();
        match make(&name) {
            // an extraction that was killed has left it
            Err(error) if exists(&error) => {}
            made => return made.map(|made| (name, made)),
        }
    }
}

/// Returns whether an extraction made a directory and did not set its metadata.
fn is_unfinished(found: &Status) -> bool {
    KEEPS.modes && u32::from(found.meta.mode & !SET_GID) == UNFINISHED
}

pub(super) fn name(plan: &Plan, dir: u32) -> &[u8] {
    plan.name(plan.dir(dir).name_ref)
}

pub(super) fn remove(dir: &Directory, name: &[u8]) -> Result<()> {
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
