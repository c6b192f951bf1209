//! New objects in object stores: not on this system, which has no sockets that are files.
//!
//! In: an address. Out: an error. **Invariant:** no [`Upload`] exists.

use std::convert::Infallible;
use std::fs::File;

use sinterfs_model::{Error, Result};

use crate::address::Address;
use crate::options::RemoteOptions;

/// An object that is being written.
#[derive(Debug)]
pub struct Upload(Infallible);

impl Upload {
    /// Begins no upload.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn begin(_address: &Address, _replace: bool, _options: &RemoteOptions) -> Result<Self> {
        let what = "objects are not written on this system: write a file and upload that";
        Err(Error::unsupported(what))
    }

    /// Returns a file that takes the object's bytes in turn.
    #[allow(clippy::missing_errors_doc, reason = "it is never called")]
    pub fn sink(&self) -> Result<File> {
        match self.0 {}
    }

    /// Completes the object of all bytes that were written.
    #[allow(clippy::missing_errors_doc, reason = "it is never called")]
    pub fn finish(self) -> Result<()> {
        match self.0 {}
    }

    /// Returns why nothing more can be written.
    pub fn failure(self) -> Error {
        match self.0 {}
    }
}
