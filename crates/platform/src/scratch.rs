//! Scratch files, for data that exceeds the memory limit while a build runs.
//!
//! Enters the directory to use; leaves unnamed files, which the system removes when they are
//! closed, however the process ends. **Invariant:** no name is left.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_model::{Error, Result, Setting};

use crate::files;

/// Creates scratch files in one directory.
#[derive(Debug, Clone)]
pub struct Scratch {
    dir: Arc<Path>,
}

impl Scratch {
    /// Selects the directory.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir: dir.into() }
    }

    /// Opens an empty file to read and write.
    pub fn file(&self) -> Result<File> {
        files::scratch(&self.dir).map_err(|error| self.failed(error))
    }

    /// Returns the error for a scratch file that cannot be used.
    #[cold]
    pub fn failed(&self, error: io::Error) -> Error {
        let options = [Setting("scratch"), Setting("lookback"), Setting("memory")];
        let [scratch, lookback, memory] = options;
        let what = format!(
            "scratch file (TMPDIR or {scratch} name another place for it, {lookback} or a larger \
             {memory} make it smaller)"
        );
        let error = Error::io(what, error).about(options);
        error.path(&*self.dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileAt;

    #[test]
    fn files_leave_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(dir.path().to_owned());
        let file = scratch.file().unwrap();
        file.write_all_at(b"bytes", 7).unwrap();
        let mut read = [0; 5];
        file.read_exact_at(&mut read, 7).unwrap();
        assert_eq!(&read, b"bytes");
        drop(file);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let nowhere = Scratch::new(dir.path().join("missing"));
        assert_eq!(nowhere.file().unwrap_err().kind(), sinterfs_model::Kind::Io);
    }
}
