//! An open directory with the options of its scan.
//!
//! Enters a path; leaves the descriptor that everything below is opened relative to.
//! **Invariant:** the path is used once, to open the root, and afterwards only in messages.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Rdev, Result};
use sinterfs_platform::{self as platform, OpenFor, names};

use crate::Exclude;

/// What a scan of a directory includes.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What is excluded; excluded directories are not read.
    pub exclude: Exclude,
    /// Whether excluded directories are kept as empty ones: in a layer they hide those of lower
    /// layers, until the rules are applied to the merged tree.
    pub keep_excluded_dirs: bool,
    /// Whether excluded names are kept, of directories without what is below them: for a caller
    /// that leaves them out of the tree and reports where they were.
    pub keep_excluded_names: bool,
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
    pub(super) root: platform::Directory,
    pub(super) path: PathBuf,
    pub(super) options: Options,
}

impl Directory {
    /// Opens a directory. A symlink to a directory is followed here, and nowhere below.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref();
        let root =
            platform::Directory::open(path, OpenFor::List).map_err(|error| match error.kind() {
                ErrorKind::NotADirectory => {
                    Error::invalid("the input is not a directory").path(path)
                }
                _ => Error::io("cannot open the input directory", error).path(path),
            })?;
        Ok(Self {
            root,
            path: path.to_owned(),
            options,
        })
    }

    /// Returns the full path of a path of the tree, for messages.
    pub(super) fn full_path(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() {
            return self.path.clone();
        }
        self.path.join(names::path(path))
    }
}
