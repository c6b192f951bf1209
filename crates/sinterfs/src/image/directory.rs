//! Directories of an image and their entries.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_model::{Cursor, Error, FileType, Image, Ino, Result};
use sinterfs_platform::names;

use super::file::File;
use super::metadata::Metadata;

/// Entries per read.
const BATCH: usize = 128;

/// A directory.
#[derive(Clone)]
pub struct Directory {
    image: Arc<dyn Image>,
    ino: Ino,
    path: PathBuf,
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Directory");
        shown.field("path", &self.path).finish_non_exhaustive()
    }
}

impl Directory {
    pub(super) fn new(image: Arc<dyn Image>, ino: Ino, path: PathBuf) -> Self {
        Self { image, ino, path }
    }

    /// Returns the path from the image's root, without a leading slash; empty for the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lists the entries, in bytewise order of their names, without `.` and `..`.
    ///
    /// # Errors `Invalid` if it is not a directory, `Corrupt` for damaged metadata.
    pub fn entries(&self) -> Result<Entries> {
        let mut entries = Entries {
            directory: self.clone(),
            next: Cursor::START,
            batch: VecDeque::new(),
            is_read: false,
        };
        entries.fill()?;
        Ok(entries)
    }

    /// Returns the metadata of the directory.
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata.
    pub fn metadata(&self) -> Result<Metadata> {
        self.image.inode(self.ino).map(Metadata::new)
    }

    /// Returns the inode number.
    pub(super) fn ino(&self) -> Ino {
        self.ino
    }
}

/// The entries of a directory.
#[derive(Debug)]
pub struct Entries {
    directory: Directory,
    next: Cursor,
    batch: VecDeque<Entry>,
    is_read: bool,
}

impl Entries {
    /// Returns the inode number of the directory.
    pub(super) fn ino(&self) -> Ino {
        self.directory.ino
    }

    /// Reads the next entries.
    fn fill(&mut self) -> Result<()> {
        let Self {
            directory,
            next,
            batch,
            is_read,
        } = self;
        let mut stuck = false;
        *is_read = true;
        directory
            .image
            .read_dir(directory.ino, *next, &mut |dirent| {
                stuck = dirent.next <= *next;
                if stuck {
                    return ControlFlow::Break(());
                }
                *next = dirent.next;
                batch.push_back(Entry {
                    image: Arc::clone(&directory.image),
                    ino: dirent.ino,
                    file_type: dirent.kind,
                    path: child(&directory.path, dirent.name),
                });
                if batch.len() < BATCH {
                    return ControlFlow::Continue(());
                }
                *is_read = false;
                ControlFlow::Break(())
            })?;
        if stuck {
            let error = Error::corrupt("a directory listing continues at an earlier position");
            return Err(error.path(&directory.path));
        }
        Ok(())
    }
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.is_empty()
            && !self.is_read
            && let Err(error) = self.fill()
        {
            // a listing with a gap would pass for a whole one
            self.batch.clear();
            self.is_read = true;
            return Some(Err(error));
        }
        self.batch.pop_front().map(Ok)
    }
}

/// An entry of a directory.
#[derive(Clone)]
pub struct Entry {
    image: Arc<dyn Image>,
    ino: Ino,
    file_type: FileType,
    path: PathBuf,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("path", &self.path)
            .field("file_type", &self.file_type)
            .finish_non_exhaustive()
    }
}

impl Entry {
    /// Returns the name.
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Returns the path from the image's root, without a leading slash.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the type. Symlinks are not followed.
    pub fn file_type(&self) -> FileType {
        self.file_type
    }

    /// Returns whether this is a directory.
    pub fn is_dir(&self) -> bool {
        self.file_type == FileType::Directory
    }

    /// Returns whether this is a regular file.
    pub fn is_file(&self) -> bool {
        self.file_type == FileType::File
    }

    /// Returns whether this is a symlink.
    pub fn is_symlink(&self) -> bool {
        self.file_type == FileType::Symlink
    }

    /// Returns the metadata. Symlinks are not followed.
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata.
    pub fn metadata(&self) -> Result<Metadata> {
        let inode = self.image.inode(self.ino);
        self.located(inode.map(Metadata::new))
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors `Invalid` if it is not a regular file.
    pub fn open(&self) -> Result<File> {
        self.require(self.is_file(), "not a regular file")?;
        self.located(File::open(Arc::clone(&self.image), self.ino))
    }

    /// Returns the directory that this entry is.
    ///
    /// # Errors `Invalid` if it is not a directory.
    pub fn directory(&self) -> Result<Directory> {
        self.require(self.is_dir(), "not a directory")?;
        let (image, path) = (Arc::clone(&self.image), self.path.clone());
        Ok(Directory::new(image, self.ino, path))
    }

    /// Returns the stored target of a symlink.
    ///
    /// # Errors `Invalid` if it is not a symlink.
    pub fn read_link(&self) -> Result<PathBuf> {
        self.require(self.is_symlink(), "not a symlink")?;
        let target = self.located(self.image.read_link(self.ino))?;
        Ok(names::path_buf(target))
    }

    /// Fails if the entry has another type than the caller takes it for.
    fn require(&self, is_so: bool, what: &'static str) -> Result<()> {
        if is_so {
            return Ok(());
        }
        Err(Error::invalid(what).path(&self.path))
    }

    /// Adds the path to an error, and blames the image for an entry that leads nowhere.
    fn located<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.into_corrupt_entry().path(&self.path))
    }
}

/// Returns the path of a name in a directory: not by `join`, for which some names are more.
fn child(directory: &Path, name: &[u8]) -> PathBuf {
    if directory.as_os_str().is_empty() {
        return names::path_buf(name.to_vec());
    }
    let mut path = OsString::from(directory);
    path.push("/");
    path.push(names::os_str(name));
    path.into()
}
