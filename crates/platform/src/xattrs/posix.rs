//! Attributes of a name that is opened for them.
//!
//! In: an open directory and a name. Out: names and values. **Invariant:** a symlink, a device or a
//! fifo is not opened, and has none.

use std::fs::File;
use std::io;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;
use sinterfs_model::FileType;

use super::{growing, listed, present};
use crate::directory::{Directory, OpenFor};

/// The error for an attribute that is not there (`ENOATTR`).
pub(super) const ABSENT: Errno = Errno::from_raw_os_error(93);

#[derive(Debug)]
pub(crate) struct Attributes(Option<File>);

impl Attributes {
    pub(crate) fn of(dir: &File, name: &[u8]) -> io::Result<Self> {
        let name = if name == b"." { b"" } else { name };
        let dir = Directory::from(dir.try_clone()?);
        let is_other = !name.is_empty()
            && !matches!(
                dir.status(name)?.kind,
                Some(FileType::File | FileType::Directory)
            );
        if is_other {
            return Ok(Self(None));
        }
        dir.open_beneath(name, OpenFor::Read)
            .map(|file| Self(Some(file)))
    }

    pub(crate) fn list(&self) -> io::Result<Vec<u8>> {
        match &self.0 {
            Some(file) => listed(growing(|buffer| flistxattr(file, buffer))),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn value(&self, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match &self.0 {
            Some(file) => present(growing(|buffer| fgetxattr(file, name, buffer))),
            None => Ok(None),
        }
    }

    pub(crate) fn set(&self, name: &[u8], value: &[u8]) -> io::Result<()> {
        match &self.0 {
            Some(file) => Ok(fsetxattr(file, name, value, XattrFlags::empty())?),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

pub(crate) fn are_readable(_dir: &File) -> bool {
    true
}
