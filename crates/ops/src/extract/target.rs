//! The directory that an extraction writes below.
//!
//! **Invariant:** every name is used relative to a directory that was reached from the root of
//! the target component by component, never through a symlink and never through `..`. So neither
//! a hostile image nor a symlink planted in the target leads a write out of it. Nothing else in
//! `extract` names files.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::fs::{self, AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use sinterfs_model::{Error, FileType, Inode, Kind, Result};

use super::lock::lock;
use super::options::{ExtractOptions, Overwrite};
use crate::plan::Plan;

/// The number of directories that are kept open.
const OPEN_DIRS: usize = 256;
/// How many of the directories above one that was not open are kept open on the way to it.
const OPEN_ABOVE: usize = 128;
/// The longest relative path that the kernel takes, with room to spare.
const LONGEST_PATH: usize = 4000;

const WALK: OFlags = OFlags::PATH.union(DIRECTORY);
const LIST: OFlags = OFlags::RDONLY.union(DIRECTORY);
const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const WRITE: OFlags = OFlags::WRONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The root of the extraction, and the open directories below it.
#[derive(Debug)]
pub(crate) struct Target {
    root: Arc<OwnedFd>,
    made_root: bool,
    overwrite: Overwrite,
    /// The initial permissions: for the owner alone until the final ones are set (a file that one
    /// thread writes may have them from the start, see `first_mode`), or what the umask leaves if
    /// none are set.
    dir_mode: Mode,
    file_mode: Mode,
    /// Whether permissions will be set.
    permissions: bool,
    /// The owner and group that new files have, and whether they will be changed.
    own: (u32, u32),
    chown: bool,
    made: Mutex<HashSet<u32>>,
    open: Mutex<OpenDirs>,
    temporary: AtomicU64,
}

/// Directories that are open, by their index in the plan; the oldest is closed first.
#[derive(Debug, Default)]
struct OpenDirs {
    fds: HashMap<u32, Arc<OwnedFd>>,
    age: VecDeque<u32>,
}

/// A file being written, possibly under a temporary name until it is complete.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// The file.
    pub(crate) file: File,
    /// The temporary name until `publish`, if it has one.
    temporary: Option<Vec<u8>>,
}

/// Identifies a new file after it was closed, to reopen it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    dev: u64,
    ino: u64,
    temporary: Option<Vec<u8>>,
}

fn failed(what: &'static str) -> impl FnOnce(Errno) -> Error {
    move |errno| Error::io(what, errno)
}

fn in_the_way(what: &'static str) -> Error {
    Error::new(Kind::Io, what)
}

/// Returns whether an error makes all further work pointless.
pub(crate) fn ends_all(error: &Error) -> bool {
    const FULL: [Errno; 3] = [Errno::NOSPC, Errno::DQUOT, Errno::ROFS];
    error.kind() == Kind::Cancelled || errno(error).is_some_and(|errno| FULL.contains(&errno))
}

/// Returns whether an error means that the file system cannot make this hard link.
pub(crate) fn no_links(error: &Error) -> bool {
    const NONE: [Errno; 5] = [
        Errno::MLINK,
        Errno::PERM,
        Errno::OPNOTSUPP,
        Errno::XDEV,
        Errno::NOSYS,
    ];
    errno(error).is_some_and(|errno| NONE.contains(&errno))
}

fn errno(error: &Error) -> Option<Errno> {
    Errno::from_io_error(error.io_source()?)
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
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty())
            .map_err(|errno| Error::io("can't open the target", errno).path(path))?;
        if overwrite == Overwrite::Refuse && !is_empty(&root)? {
            return Err(Error::invalid("the target is not empty").path(path));
        }
        Ok(Self {
            root: Arc::new(root),
            made_root,
            overwrite,
            dir_mode: Mode::from_raw_mode(if options.permissions { 0o700 } else { 0o777 }),
            file_mode: Mode::from_raw_mode(if options.permissions { 0o600 } else { 0o666 }),
            permissions: options.permissions,
            own: (geteuid().as_raw(), getegid().as_raw()),
            chown: options.owner,
            made: Mutex::new(HashSet::from([0])),
            open: Mutex::default(),
            temporary: AtomicU64::new(0),
        })
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
    pub(crate) fn first_mode(&self, inode: &Inode) -> Mode {
        let mode = u32::from(inode.meta.mode);
        let plain = mode & 0o7000 == 0 && mode >> 3 & 7 == mode & 7;
        if self.permissions && plain && self.makes_for(inode) {
            Mode::from_raw_mode(mode)
        } else {
            self.file_mode
        }
    }

    /// Returns the initial permissions of a file that several threads open.
    pub(crate) fn part_mode(&self) -> Mode {
        self.file_mode
    }

    /// Returns whether a directory of the plan was made.
    pub(crate) fn made_dir(&self, index: u32) -> bool {
        lock(&self.made).contains(&index)
    }

    /// Opens a directory of the plan for use with the other methods.
    pub(crate) fn dir(&self, plan: &Plan, index: u32) -> Result<Arc<OwnedFd>> {
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
            at = plan.dir(at).spot.dir;
        };
        if missing.len() > OPEN_ABOVE {
            let far = missing.split_off(OPEN_ABOVE);
            here = Arc::new(descend(
                &here,
                far.iter().rev().map(|&dir| name(plan, dir)),
            )?);
        }
        for &dir in missing.iter().rev() {
            here = Arc::new(open_dir(&here, name(plan, dir), WALK)?);
            lock(&self.open).insert(dir, &here);
        }
        Ok(here)
    }

    /// Makes a directory of the plan whose parent is there; an existing directory is taken.
    pub(crate) fn make_dir(&self, plan: &Plan, index: u32) -> Result<()> {
        let parent = self.dir(plan, plan.dir(index).spot.dir)?;
        let name = name(plan, index);
        match fs::mkdirat(&parent, name, self.dir_mode) {
            Err(Errno::EXIST) if is_dir(&parent, name)? => {}
            Err(Errno::EXIST) if self.overwrite == Overwrite::Replace => {
                remove(&parent, name)?;
                let made = fs::mkdirat(&parent, name, self.dir_mode);
                made.map_err(failed("can't make the directory"))?;
            }
            Err(Errno::EXIST) => {
                return Err(in_the_way("a file that is not a directory is in the way"));
            }
            other => other.map_err(failed("can't make the directory"))?,
        }
        lock(&self.made).insert(index);
        Ok(())
    }

    /// Opens a directory of the plan so that its metadata can be changed.
    pub(crate) fn reopen_dir(&self, plan: &Plan, index: u32) -> Result<OwnedFd> {
        if index == 0 {
            return self
                .root
                .try_clone()
                .map_err(|error| Error::io("dup failed", error));
        }
        let parent = self.dir(plan, plan.dir(index).spot.dir)?;
        open_dir(&parent, name(plan, index), LIST)
    }

    /// Creates a regular file; `None` if an existing one is kept. A file to replace stays until
    /// `publish`, so that a failure leaves it unchanged.
    pub(crate) fn make_file(
        &self,
        dir: &OwnedFd,
        name: &[u8],
        mode: Mode,
    ) -> Result<Option<NewFile>> {
        let flags = WRITE | OFlags::CREATE | OFlags::EXCL;
        let mut temporary = None;
        let fd = match fs::openat(dir, name, flags, mode) {
            Err(Errno::EXIST) => match self.overwrite {
                Overwrite::Keep => return Ok(None),
                Overwrite::Refuse => return Err(in_the_way("it exists already")),
                Overwrite::Replace => {
                    let number = self.temporary.fetch_add(1, Ordering::Relaxed);
                    let text = format!(".sinter-{}-{number}", std::process::id());
                    let fd = fs::openat(dir, text.as_bytes(), flags, mode);
                    temporary = Some(text.into_bytes());
                    fd
                }
            },
            other => other,
        };
        let fd = fd.map_err(failed("can't make the file"))?;
        Ok(Some(NewFile {
            file: File::from(fd),
            temporary,
        }))
    }

    /// Opens a file again that `make_file` made.
    pub(crate) fn reopen(&self, dir: &OwnedFd, name: &[u8], ticket: &Ticket) -> Result<NewFile> {
        let temporary = ticket.temporary.clone();
        let fd = fs::openat(
            dir,
            temporary.as_deref().unwrap_or(name),
            WRITE,
            Mode::empty(),
        );
        let fd = fd.map_err(failed("can't open the file again"))?;
        let stat = fs::fstat(&fd).map_err(failed("stat failed"))?;
        if (stat.st_dev, stat.st_ino) != (ticket.dev, ticket.ino) {
            return Err(in_the_way("another file has taken its place"));
        }
        Ok(NewFile {
            file: File::from(fd),
            temporary,
        })
    }

    /// Renames a complete file to its final name.
    pub(crate) fn publish(&self, dir: &OwnedFd, name: &[u8], new: &NewFile) -> Result<()> {
        let Some(temporary) = &new.temporary else {
            return Ok(());
        };
        fs::renameat(dir, temporary.as_slice(), dir, name).map_err(|errno| match errno {
            Errno::ISDIR => in_the_way("a directory is in the way"),
            errno => Error::io("can't replace the file", errno),
        })
    }

    /// Removes a partial file; it is no error if it does not exist.
    pub(crate) fn discard(&self, dir: &OwnedFd, name: &[u8], ticket: &Ticket) -> Result<()> {
        let name = ticket.temporary.as_deref().unwrap_or(name);
        match fs::unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Error::io("can't remove the partial file", errno)),
        }
    }

    /// Makes a symlink; `false` if an existing file is kept.
    pub(crate) fn make_symlink(&self, dir: &OwnedFd, name: &[u8], text: &[u8]) -> Result<bool> {
        self.make(dir, name, "can't make the symlink", || {
            fs::symlinkat(text, dir, name)
        })
    }

    /// Makes a device, fifo or socket; `false` if an existing file is kept.
    pub(crate) fn make_special(&self, dir: &OwnedFd, name: &[u8], inode: &Inode) -> Result<bool> {
        let kind = match inode.kind {
            FileType::CharDevice => fs::FileType::CharacterDevice,
            FileType::BlockDevice => fs::FileType::BlockDevice,
            FileType::Socket => fs::FileType::Socket,
            _ => fs::FileType::Fifo,
        };
        let mode = self.file_mode;
        let dev = match inode.kind {
            FileType::CharDevice | FileType::BlockDevice => inode.rdev.to_dev_t(),
            _ => 0,
        };
        self.make(dir, name, "can't make the special file", || {
            fs::mknodat(dir, name, kind, mode, dev)
        })
    }

    /// Makes a hard link; `false` if an existing file is kept.
    pub(crate) fn make_link(
        &self,
        from: &OwnedFd,
        old: &[u8],
        dir: &OwnedFd,
        name: &[u8],
    ) -> Result<bool> {
        self.make(dir, name, "can't make the hard link", || {
            fs::linkat(from, old, dir, name, AtFlags::empty())
        })
    }

    fn make(
        &self,
        dir: &OwnedFd,
        name: &[u8],
        what: &'static str,
        attempt: impl Fn() -> rustix::io::Result<()>,
    ) -> Result<bool> {
        match (attempt(), self.overwrite) {
            (Err(Errno::EXIST), Overwrite::Keep) => return Ok(false),
            (Err(Errno::EXIST), Overwrite::Refuse) => Err(in_the_way("it exists already")),
            (Err(Errno::EXIST), Overwrite::Replace) => {
                remove(dir, name)?;
                attempt().map_err(failed(what))
            }
            (done, _) => done.map_err(failed(what)),
        }?;
        Ok(true)
    }
}

impl OpenDirs {
    fn insert(&mut self, index: u32, fd: &Arc<OwnedFd>) {
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

impl NewFile {
    /// Writes bytes at an offset.
    pub(crate) fn put(&self, data: &[u8], at: u64) -> Result<()> {
        self.file
            .write_all_at(data, at)
            .map_err(|error| Error::io("write failed", error))
    }

    /// Returns what identifies this file when it is reopened.
    pub(crate) fn ticket(&self) -> Result<Ticket> {
        let stat = fs::fstat(&self.file).map_err(failed("stat failed"))?;
        Ok(Ticket {
            dev: stat.st_dev,
            ino: stat.st_ino,
            temporary: self.temporary.clone(),
        })
    }
}

fn name(plan: &Plan, dir: u32) -> &[u8] {
    plan.name(plan.dir(dir).spot)
}

fn open_dir(parent: &OwnedFd, name: &[u8], flags: OFlags) -> Result<OwnedFd> {
    fs::openat(parent, name, flags, Mode::empty()).map_err(failed("can't open the directory"))
}

/// Opens a directory far below another, many components a system call where the kernel can.
fn descend<'a>(from: &OwnedFd, names: impl Iterator<Item = &'a [u8]>) -> Result<OwnedFd> {
    let mut here = from
        .try_clone()
        .map_err(|error| Error::io("dup failed", error))?;
    let mut parts: Vec<&[u8]> = Vec::new();
    let mut length = 0;
    for name in names {
        if length + name.len() + 1 > LONGEST_PATH {
            here = open_beneath(&here, &parts)?;
            parts.clear();
            length = 0;
        }
        length += name.len() + 1;
        parts.push(name);
    }
    open_beneath(&here, &parts)
}

fn open_beneath(from: &OwnedFd, parts: &[&[u8]]) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(from, parts.join(&b'/'), WALK, Mode::empty(), resolve) {
        // Not there before Linux 5.6, some containers forbid it, and a rename elsewhere disturbs
        // it.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {
            let mut here = from
                .try_clone()
                .map_err(|error| Error::io("dup failed", error))?;
            for part in parts {
                here = open_dir(&here, part, WALK)?;
            }
            Ok(here)
        }
        other => other.map_err(failed("can't open the directory")),
    }
}

fn remove(dir: &OwnedFd, name: &[u8]) -> Result<()> {
    match fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => Err(in_the_way("a directory is in the way")),
        Err(errno) => Err(Error::io("can't remove the file in the way", errno)),
    }
}

fn is_dir(dir: &OwnedFd, name: &[u8]) -> Result<bool> {
    let stat = fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed("stat failed"))?;
    Ok(fs::FileType::from_raw_mode(stat.st_mode) == fs::FileType::Directory)
}

fn is_empty(dir: &OwnedFd) -> Result<bool> {
    let unreadable = "can't list the target";
    for entry in fs::Dir::read_from(dir).map_err(failed(unreadable))? {
        let entry = entry.map_err(failed(unreadable))?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Opens a name with `O_PATH`, whatever its type.
pub(crate) fn open_name(dir: &OwnedFd, name: &[u8]) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(dir, name, flags, Mode::empty()).map_err(failed("can't open it"))
}

/// Returns a path of an open file, for system calls that take paths; it cannot lead elsewhere.
pub(crate) fn proc_path(fd: BorrowedFd<'_>) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}
