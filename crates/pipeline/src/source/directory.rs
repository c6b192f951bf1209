//! A directory of the running system as a source.
//!
//! Enters a path; leaves a `Tree` (see `scan`) and the content of its files (see `content`).
//! Everything below the root is opened relative to the root's descriptor and never through a
//! symlink (see `beneath`). So nothing outside of the root is packed, whatever other processes do
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

/// What a scan of a directory includes.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What is excluded; excluded directories are not read.
    pub exclude: Exclude,
    /// Whether excluded directories are kept as empty ones: in a layer they hide those of lower
    /// layers, until the rules are applied to the merged tree.
    pub keep_excluded_dirs: bool,
    /// Whether other file systems are left out; their mount points are kept as empty directories.
    pub one_file_system: bool,
    /// Whether extended attributes are ignored.
    pub no_xattrs: bool,
    /// Files to leave out, by device and inode number: those that the build replaces.
    pub skip: Vec<(Rdev, u64)>,
    /// The number of scanning threads; 0 means one for each CPU.
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
    /// Opens a directory. A symlink to a directory is followed here, and nowhere below.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| {
            if errno == rustix::io::Errno::NOTDIR {
                Error::invalid("the input is not a directory").path(path)
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

    /// Returns the full path of a path of the tree, for messages.
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
                "was a regular file when scanned, but is not any more",
            )));
        }
        Ok(Box::new(OpenFile::new(
            fd,
            self.full_path(&path),
            status.size,
        )))
    }
}
