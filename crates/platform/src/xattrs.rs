//! Extended attributes of files.
//!
//! In: a name in an open directory, or an open file. Out: names and values, or an attribute more.
//! **Invariant:** no symlink is followed; a name without attributes costs one system call on Linux.

#[cfg(unix)]
#[path = "xattrs/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "xattrs/windows.rs"]
mod system;

use std::fs::File;
use std::io;

use crate::Directory;

/// The attributes of a name in an open directory.
#[derive(Debug)]
pub struct Attributes(system::Attributes);

impl Attributes {
    /// Begins with a name.
    ///
    /// # Errors
    /// The system's error.
    pub fn of(dir: &Directory, name: &[u8]) -> io::Result<Self> {
        system::Attributes::of(dir.as_file(), name).map(Self)
    }

    /// Returns the names, sorted. A file system without attributes has none.
    ///
    /// # Errors
    /// The system's error.
    pub fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let list = self.0.list()?;
        let names = list
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty());
        let mut names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
        // a FUSE file system may return any list
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Returns a value; `None` if it was removed meanwhile.
    ///
    /// # Errors
    /// The system's error.
    pub fn value(&self, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.0.value(name)
    }

    /// Sets a value.
    ///
    /// # Errors
    /// The system's error.
    pub fn set(&self, name: &[u8], value: &[u8]) -> io::Result<()> {
        self.0.set(name, value)
    }
}

/// Returns whether attributes can be read below a directory: on Linux `/proc` may be missing.
pub fn are_readable(dir: &Directory) -> bool {
    system::are_readable(dir.as_file())
}

/// Sets an attribute of an open file or directory.
///
/// # Errors
/// The system's error.
pub fn set(file: &File, name: &[u8], value: &[u8]) -> io::Result<()> {
    system::set(file, name, value)
}

/// Copies the attributes that can be read and set, but for access control lists.
pub fn copy(old: &File, new: &File) {
    system::copy(old, new);
}

/// Copies access control lists, and the labels of security modules as far as they can be set. A
/// list that the new file has from its directory is removed.
///
/// # Errors
/// The system's error: the new file may have no list then, or another one.
pub fn copy_access(old: &File, new: &File) -> io::Result<()> {
    system::copy_access(old, new)
}

/// Removes the access control lists of a file; returns whether it has none now.
pub fn remove_access_lists(file: &File) -> bool {
    system::remove_access_lists(file)
}

/// Returns whether a file has access control lists in addition to its permissions.
///
/// # Errors
/// The system's error.
pub fn has_access_lists(file: &File) -> io::Result<bool> {
    system::has_access_lists(file)
}
