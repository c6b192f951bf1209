//! A file of an extraction while it is written.
//!
//! In: bytes and their offsets. Out: the file, and a ticket by which it is opened again, if it is
//! the same file still.

use std::fs::File;

use sinterfs_model::{Error, Result};
use sinterfs_platform::{Directory, FileAt, Identity};

/// A file being written, possibly under a temporary name until it is complete.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// The file.
    pub(crate) file: File,
    /// The temporary name until `publish`, if it has one.
    pub(super) temporary: Option<Vec<u8>>,
}

/// Identifies a new file after it was closed, to reopen it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(super) identity: Identity,
    pub(super) temporary: Option<Vec<u8>>,
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
            temporary: self.temporary.clone(),
        })
    }
}
