//! Scratch files, for data that exceeds the memory limit while a build runs.
//!
//! Enters the directory to use; leaves unnamed files, which the system removes when they are
//! closed, however the process ends. **Invariant:** no name is left behind; on a file system
//! without unnamed files, the file is removed as soon as it is open.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use sinterfs_model::{Error, Result, Setting};

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
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(&*self.dir, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(file.into()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => self.removed_file(),
            Err(error) => Err(self.failed(error.into())),
        }
    }

    /// Creates a file with a unique name and removes the name.
    fn removed_file(&self) -> Result<File> {
        for attempt in 0..1000 {
            let name = format!(".sinter-scratch-{}-{attempt}", std::process::id());
            let path = self.dir.join(name);
            let mut options = File::options();
            match options.read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    std::fs::remove_file(&path).map_err(|error| self.failed(error))?;
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Err(self.failed(io::ErrorKind::AlreadyExists.into()))
    }

    /// Returns the error for a scratch file that cannot be used.
    #[cold]
    pub(crate) fn failed(&self, error: io::Error) -> Error {
        let options = [Setting::Scratch, Setting::Lookback, Setting::Memory];
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
    use std::os::unix::fs::FileExt;

    #[test]
    fn files_leave_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(dir.path().to_owned());
        for file in [scratch.file().unwrap(), scratch.removed_file().unwrap()] {
            file.write_all_at(b"bytes", 7).unwrap();
            let mut read = [0; 5];
            file.read_exact_at(&mut read, 7).unwrap();
            assert_eq!(&read, b"bytes");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
        let nowhere = Scratch::new(dir.path().join("missing"));
        assert_eq!(nowhere.file().unwrap_err().kind(), sinterfs_model::Kind::Io);
    }
}
