//! Attributes of a name, by its path in `/proc`.
//!
//! In: an open directory and a name. Out: names and values.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{XattrFlags, lgetxattr, llistxattr, lsetxattr};
use rustix::io::Errno;

use super::{growing, listed, present};

/// The error for an attribute that is not there.
pub(super) const ABSENT: Errno = Errno::NODATA;

#[derive(Debug)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    #[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(crate) fn of(dir: &File, name: &[u8]) -> io::Result<Self> {
        let mut path = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
        path.extend_from_slice(name);
        Ok(Self(path))
    }

    pub(crate) fn list(&self) -> io::Result<Vec<u8>> {
        listed(growing(|buffer| llistxattr(&*self.0, buffer)))
    }

    pub(crate) fn value(&self, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
        present(growing(|buffer| lgetxattr(&*self.0, name, buffer)))
    }

    pub(crate) fn set(&self, name: &[u8], value: &[u8]) -> io::Result<()> {
        Ok(lsetxattr(&*self.0, name, value, XattrFlags::empty())?)
    }
}

pub(crate) fn are_readable(dir: &File) -> bool {
    let path = format!("/proc/self/fd/{}/.", dir.as_raw_fd());
    let listed = llistxattr(&*path, &mut [0_u8; 1][..]);
    !matches!(listed, Err(Errno::NOENT | Errno::NOTDIR))
}
