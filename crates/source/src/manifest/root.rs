//! The directory of the files of a list.
//!
//! Enters a path of a list; leaves an open file. **Invariant:** unless it is allowed, no path leads
//! out of the directory through `..` or symlinks: the kernel refuses it while resolving the path.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Result, Setting};
use sinterfs_platform::{Directory, OpenFor, Status, names};

/// An open directory.
pub(super) struct Root {
    dir: Directory,
    path: PathBuf,
    allow_outside: bool,
}

impl Root {
    pub(super) fn open(path: &Path, allow_outside: bool) -> Result<Self> {
        let failed = |error| Error::io("cannot open the directory of a list's files", error);
        Ok(Self {
            dir: Directory::open(path, OpenFor::Walk).map_err(|error| failed(error).path(path))?,
            path: path.to_owned(),
            allow_outside,
        })
    }

    /// Returns a path for messages.
    pub(super) fn display_path(&self, path: &[u8]) -> String {
        self.path.join(names::path(path)).display().to_string()
    }

    /// Returns the status of a file without opening it for reading; `None` if it does not exist.
    pub(super) fn status(&self, path: &[u8], follows: bool) -> Result<Option<(File, Status)>> {
        let file = match self.lookup(path, OpenFor::Look, follows)? {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.failed(path, error)),
        };
        let status = Directory::status_of(&file).map_err(|error| self.failed(path, error))?;
        Ok(Some((file, status)))
    }

    /// Opens a file to read it; symlinks are followed.
    pub(super) fn open_at(&self, path: &[u8]) -> Result<File> {
        self.lookup(path, OpenFor::Read, true)?
            .map_err(|error| self.failed(path, error))
    }

    fn failed(&self, path: &[u8], error: io::Error) -> Error {
        Error::io(format!("cannot open {}", self.display_path(path)), error)
    }

    /// Resolves a path; fails if it leads out of the directory, other errors are left to the
    /// caller.
    fn lookup(&self, path: &[u8], open: OpenFor, follows: bool) -> Result<io::Result<File>> {
        if self.allow_outside {
            return Ok(self.dir.open_anywhere(path, open, follows));
        }
        match self.dir.open_within(path, open, follows) {
            Ok(Some(file)) => Ok(Ok(file)),
            Ok(None) => {
                let display_path = String::from_utf8_lossy(path);
                let option = Setting("manifest_anywhere");
                let what = format!(
                    "`{display_path}` leads out of {}: {option} allows that",
                    self.path.display()
                );
                Err(Error::invalid(what).about([option]))
            }
            Err(error) => Ok(Err(error)),
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
