//! A directory of the running system as a source.
//!
//! Enters a path; leaves a `Tree` (see `scan`) and the content of its files (see `content`).
//! Everything below the root is opened relative to the root's descriptor and never through a
//! symlink (see `beneath`), so that what is packed lies beneath the root whatever others do
//! meanwhile, and paths may be longer than `PATH_MAX`.
//! **Invariant:** the tree does not depend on the number of threads or on their timing.

mod attributes;
pub(super) mod beneath;
pub(super) mod content;
mod scan;
pub(super) mod single_file;
pub(super) mod status;

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sinterfs_model::{Error, FileContent, FileType, NodeId, Observer, Rdev, Result, Source, Tree};

use super::Exclude;
use content::OpenFile;

/// Says what a scan of a directory takes.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What is left out; nothing below an excluded directory is looked at.
    pub exclude: Exclude,
    /// Whether directories that are left out for being directories stay, empty: in a layer they hide what is
    /// below them, until the rules are applied to all layers together.
    pub keep_excluded_dirs: bool,
    /// Whether other file systems are left out; their mount points stay as empty directories.
    pub one_file_system: bool,
    /// Whether extended attributes are left out, without a look at them.
    pub no_xattrs: bool,
    /// Files that are left out, by device and inode number: those that are to be replaced.
    pub skip: Vec<(Rdev, u64)>,
    /// The number of threads that scan; 0 means as many as the machine runs at once.
    pub threads: usize,
}

/// A directory of the running system, opened.
#[derive(Debug)]
pub struct Directory {
    root: OwnedFd,
    path: PathBuf,
    options: Options,
}

impl Directory {
    /// Opens a directory; a symlink to a directory is followed here and nowhere below.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| {
            if errno == rustix::io::Errno::NOTDIR {
                Error::invalid("the input must be a directory, this is something else").path(path)
            } else {
                Error::io("cannot open the input directory", errno).path(path)
            }
        })?;
        Ok(Self {
            root,
            path: path.to_owned(),
            options,
        })
    }

    /// Returns the path that messages name for a path of the tree.
    fn full_path(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() {
            return self.path.clone();
        }
        self.path.join(std::ffi::OsStr::from_bytes(path))
    }
}

impl Source for Directory {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        scan::scan(
            self,
            sinterfs_workers::thread_count(self.options.threads),
            observer,
        )
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let path = tree.path(file);
        let fail = |error: Error| error.path(self.full_path(&path));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = beneath::open(self.root.as_fd(), &path, flags)
            .map_err(|errno| fail(Error::io("cannot open", errno)))?;
        let status = status::of_fd(&fd).map_err(|errno| fail(Error::io("cannot stat", errno)))?;
        if status.kind != Some(FileType::File) {
            return Err(fail(Error::invalid(
                "was a regular file when scanned and is none now",
            )));
        }
        Ok(Box::new(OpenFile::new(
            fd,
            self.full_path(&path),
            status.size,
        )))
    }
}
