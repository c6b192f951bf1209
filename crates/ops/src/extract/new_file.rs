//! A file of an extraction while it is written.
//!
//! In: bytes and their offsets. Out: the file, and a ticket by which it is opened again, if it is
//! the same file still. **Invariant:** it, or a directory above it, has a
//! hidden name until it is complete.

use std::fs::File;

use sinterfs_model::{Error, Result};
use sinterfs_platform::{Directory, FileAt, Identity, files};

/// A file being written.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// The file.
    pub(crate) file: File,
    /// The name until `publish`; in a hidden directory, it has its own name.
    pub(super) hidden: Option<Vec<u8>>,
}

/// Identifies a new file after it was closed, to reopen it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(super) identity: Identity,
    pub(super) hidden: Option<Vec<u8>>,
}

/// The outcome for a complete file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Published {
    /// It has its name, which nothing had.
    New,
    /// It has taken the place of another file.
    Replaced,
    /// Another file has the name, and keeps it.
    Kept,
}

impl Ticket {
    /// Returns the name that the file has now; `name` is the final one.
    pub(super) fn name_now<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        self.hidden.as_deref().unwrap_or(name)
    }
}

impl NewFile {
    /// Writes bytes at an offset.
    pub(crate) fn put(&self, data: &[u8], at: u64) -> Result<()> {
        self.file
            .write_all_at(data, at)
            .map_err(|error| Error::io("write failed", error))
    }

    /// Returns what identifies this file when it is reopened.
    pub(crate) fn ticket(&self) -> Result<Ticket> {
        let status =
            Directory::status_of(&self.file).map_err(|error| Error::io("stat failed", error))?;
        Ok(Ticket {
            identity: status.identity,
            hidden: self.hidden.clone(),
        })
    }

    /// Closes it. A file system that writes late reports only now what it could not write.
    pub(crate) fn close(self) -> Result<()> {
        files::close(self.file).map_err(|error| Error::io("can't close the file", error))
    }
}
