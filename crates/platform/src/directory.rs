//! An open directory, and what is done to the names in it.
//!
//! In: names as bytes. Out: open files, their status, new files. **Invariant:** a name is one
//! component, or several to be opened one after another, and none is resolved through a symlink or
//! through `..`, even if other processes interfere (`symlinks_are_not_followed`); only
//! [`Directory::open`] follows symlinks, and, on request, [`Directory::open_within`].

#[cfg(unix)]
#[path = "directory/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "directory/windows.rs"]
mod system;
mod within;

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use sinterfs_model::{FileType, Rdev};

use crate::status::Status;

/// The purpose for which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFor {
    /// A directory, on the way to what is below it.
    Walk,
    /// A directory, to list it or to change its metadata.
    List,
    /// A file, to read it. A fifo is not waited for; whether it is a regular file is to be seen.
    Read,
    /// A name of any type, only for its status.
    Look,
}

/// An open directory.
#[derive(Debug)]
pub struct Directory(File);

impl From<File> for Directory {
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl Directory {
    /// Opens a directory, to walk or to list it; symlinks are followed. Who may not read it may
    /// walk through it all the same.
    ///
    /// # Errors
    /// `NotADirectory` for another file, and what the system reports.
    pub fn open(path: &Path, open: OpenFor) -> io::Result<Self> {
        system::open(path, open).map(Self)
    }

    /// Returns the open file of the directory.
    pub fn as_file(&self) -> &File {
        &self.0
    }

    /// Opens it once more.
    ///
    /// # Errors
    /// The system's error: no descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    /// The system's error; a symlink is not a directory.
    pub fn child(&self, name: &[u8], open: OpenFor) -> io::Result<Self> {
        system::child(&self.0, name, open).map(Self)
    }

    /// Opens a path of any length below this directory; the empty path is the directory itself.
    ///
    /// # Errors
    /// The system's error; also fails if a component is a symlink or `..`.
    pub fn open_beneath(&self, path: &[u8], open: OpenFor) -> io::Result<File> {
        if path.split(|&byte| byte == b'/').any(|name| name == b"..") {
            let what = "the path has a component `..`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        system::open_beneath(&self.0, path, open)
    }

    /// Opens a directory of any depth below this one.
    ///
    /// # Errors
    /// Those of [`Self::open_beneath`].
    pub fn beneath(&self, path: &[u8], open: OpenFor) -> io::Result<Self> {
        self.open_beneath(path, open).map(Self)
    }

    /// Opens a path that may lead through symlinks, but not out of this directory; the last
    /// component is followed on request. `None` if it leads out.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_within(
        &self,
        path: &[u8],
        open: OpenFor,
        follow: bool,
    ) -> io::Result<Option<File>> {
        system::open_within(&self.0, path, open, follow)
    }

    /// Opens a path that may lead anywhere, from this directory on.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_anywhere(&self, path: &[u8], open: OpenFor, follow: bool) -> io::Result<File> {
        system::open_anywhere(&self.0, path, open, follow)
    }

    /// Passes each name to `each`, but `.` and `..`, until that breaks; a name that is replaced
    /// meanwhile may come twice.
    ///
    /// # Errors
    /// The system's error.
    pub fn list(&self, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
        system::list(&self.0, each)
    }

    /// Returns whether nothing is in it.
    ///
    /// # Errors
    /// The system's error.
    pub fn is_empty(&self) -> io::Result<bool> {
        let mut is_empty = true;
        self.list(&mut |_| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }

    /// Returns the status of a name; of a symlink, its own.
    ///
    /// # Errors
    /// The system's error.
    pub fn status(&self, name: &[u8]) -> io::Result<Status> {
        system::status(&self.0, name)
    }

    /// Returns the status of an open file or directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn status_of(file: &File) -> io::Result<Status> {
        system::status_of(file)
    }

    /// Returns the text of a symlink.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        system::read_link(&self.0, name)
    }

    /// Returns the text of a symlink that is open to be looked at.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_open_link(link: &File) -> io::Result<Vec<u8>> {
        system::read_open_link(link)
    }

    /// Makes a directory with these permissions, less what the umask takes.
    ///
    /// # Errors
    /// `AlreadyExists`, and what the system reports.
    pub fn make_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        system::make_dir(&self.0, name, mode)
    }

    /// Makes a regular file, open for writing.
    ///
    /// # Errors
    /// `AlreadyExists`, and what the system reports.
    pub fn make_file(&self, name: &[u8], mode: u32) -> io::Result<File> {
        system::make_file(&self.0, name, mode)
    }

    /// Opens a regular file for writing.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_to_write(&self, name: &[u8]) -> io::Result<File> {
        system::open_to_write(&self.0, name)
    }

    /// Makes a symlink. `leads_to_dir` says what the target is, where symlinks differ by that.
    ///
    /// # Errors
    /// `AlreadyExists`; `Unsupported` where this process may make none; what the system reports.
    pub fn make_symlink(&self, name: &[u8], text: &[u8], leads_to_dir: bool) -> io::Result<()> {
        system::make_symlink(&self.0, name, text, leads_to_dir)
    }

    /// Makes a device, fifo or socket.
    ///
    /// # Errors
    /// `AlreadyExists`; `Unsupported` where there are none; what the system reports.
    pub fn make_special(
        &self,
        name: &[u8],
        kind: FileType,
        mode: u32,
        rdev: Rdev,
    ) -> io::Result<()> {
        system::make_special(&self.0, name, kind, mode, rdev)
    }

    /// Links a file of this directory under another name, in `to`.
    ///
    /// # Errors
    /// `AlreadyExists`, and what the system reports.
    pub fn link(&self, old: &[u8], to: &Self, new: &[u8]) -> io::Result<()> {
        system::link(&self.0, old, &to.0, new)
    }

    /// Renames a file in this directory, replacing another one.
    ///
    /// # Errors
    /// `IsADirectory` if the name is one; what the system reports.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.move_over(from, self, to)
    }

    /// Renames a file or directory in this directory, but replaces no other one.
    ///
    /// # Errors
    /// `AlreadyExists`, and what the system reports.
    pub fn rename_new(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.move_new(from, self, to)
    }

    /// Renames a file or directory to a name in another directory, but replaces no other one.
    ///
    /// # Errors
    /// `AlreadyExists`, and what the system reports.
    pub fn move_new(&self, from: &[u8], dir: &Self, to: &[u8]) -> io::Result<()> {
        match system::move_new(&self.0, from, &dir.0, to) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            done => return done,
        }
        match self.link(from, dir, to) {
            Ok(()) => self.remove(from),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // no hard links either, or a directory: what takes the name between these calls is
            // replaced
            Err(_) if dir.status(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => system::move_over(&self.0, from, &dir.0, to),
        }
    }

    /// Renames a file to a name in another directory, replacing another file.
    ///
    /// # Errors
    /// `IsADirectory` if the name is one; what the system reports.
    pub fn move_over(&self, from: &[u8], dir: &Self, to: &[u8]) -> io::Result<()> {
        system::move_over(&self.0, from, &dir.0, to)
    }

    /// Removes a name that is no directory.
    ///
    /// # Errors
    /// `NotFound`; `IsADirectory`; what the system reports.
    pub fn remove(&self, name: &[u8]) -> io::Result<()> {
        system::remove(&self.0, name)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotFound`; `DirectoryNotEmpty`; what the system reports.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        system::remove_dir(&self.0, name)
    }

    /// Changes owner and group of a name; of a symlink, its own.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        system::set_owner(&self.0, name, uid, gid)
    }

    /// Changes the permissions of a file that is open for its status and is not a symlink: even if
    /// its name changes meanwhile, the file that was opened is changed.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_mode_of(looked_at: &File, mode: u32) -> io::Result<()> {
        system::set_looked_mode(looked_at, mode)
    }

    /// Changes access and modification time of a name; of a symlink, its own.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_times(&self, name: &[u8], times: &sinterfs_model::Times) -> io::Result<()> {
        system::set_times(&self.0, name, times)
    }

    /// Returns whether names that differ only in case are one file here: tried out by a file that
    /// is removed again.
    ///
    /// # Errors
    /// The system's error.
    pub fn folds_case(&self) -> io::Result<bool> {
        if !crate::MAY_FOLD_CASE {
            return Ok(false);
        }
        let name = format!(".sinter-case-{}", std::process::id());
        drop(self.make_file(name.as_bytes(), 0o600)?);
        let found = self.status(name.to_ascii_uppercase().as_bytes());
        self.remove(name.as_bytes())?;
        Ok(found.is_ok())
    }
}

/// Changes owner and group of an open file.
///
/// # Errors
/// The system's error.
pub(crate) fn set_owner(file: &File, uid: u32, gid: u32) -> io::Result<()> {
    system::set_open_owner(file, uid, gid)
}

/// Changes the permissions of an open file or directory.
///
/// # Errors
/// The system's error.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    system::set_open_mode(file, mode)
}

/// Changes access and modification time of an open file or directory.
///
/// # Errors
/// The system's error.
pub(crate) fn set_times(file: &File, times: &sinterfs_model::Times) -> io::Result<()> {
    system::set_open_times(file, times)
}

#[cfg(test)]
mod tests;
