//! A directory to mount on that goes with its value.
//!
//! In: a name to begin with. Out: an empty directory of this user's own. **Invariant:** it is
//! removed when the value is dropped, unless something is in it or mounted on it then.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sinterfs::{Error, Result};

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    /// Makes a directory whose name begins with `name`.
    pub fn new(name: &str) -> Result<Self> {
        let dir = std::env::temp_dir();
        let mut make = DirBuilder::new();
        make.mode(0o700);
        for number in 0_u32.. {
            let path = dir.join(format!("{name}-{}-{number}", std::process::id()));
            match make.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let what = "cannot make a directory to mount on";
                    return Err(Error::io(what, error).path(path));
                }
            }
        }
        Err(Error::limit("no name is left for a directory to mount on").path(dir))
    }

    /// Takes over one that another process has made.
    pub fn of(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves it to another process; returns its path.
    pub fn leave(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // files that keep it there are not ours
            let _ = std::fs::remove_dir(&self.0);
        }
    }
}
