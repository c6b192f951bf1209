//! A file that is made beside images: a page, a signature, digests.
//!
//! **Invariant:** the file is complete or absent, and obstacles are found before anything is
//! written.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Result};

use crate::output::Output;

/// A file that has no content and no name yet.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    output: Output,
}

impl NewFile {
    /// Opens it. `Invalid` if there is a file that is not to be replaced, or a directory.
    pub fn create(path: &Path, replace: bool) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            output: Output::create(path, replace)?,
        })
    }

    /// Returns it its content, all of it, and its name.
    pub fn write(self, bytes: &[u8]) -> Result<()> {
        let written = self.output.writer().write_all(bytes);
        written.map_err(|error| Error::io("cannot write", error).path(self.path))?;
        self.output.commit()
    }

    /// Writes what a function passes to it, and names the file unless that fails.
    pub fn fill<T>(self, fill: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
        let mut writer = BufWriter::new(self.output.writer());
        let filled = fill(&mut writer)?;
        let flushed = writer.flush();
        flushed.map_err(|error| Error::io("cannot write", error).path(self.path))?;
        drop(writer);
        self.output.commit()?;
        Ok(filled)
    }
}

/// Writes a file that is complete or not there.
pub fn write_new(path: &Path, replace: bool, bytes: &[u8]) -> Result<()> {
    NewFile::create(path, replace)?.write(bytes)
}
