//! Attributes by system calls.
//!
//! A call for a name in an open directory exists only since Linux 6.13; until it is common, the
//! path goes through `/proc`. On macOS the file is opened; a symlink has none there. ACLs are read
//! as Linux presents them (`system.posix_acl_access`, `system.posix_acl_default`).

use std::fs::File;
use std::io;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::{Errno, Result};

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "posix.rs"]
mod kernel;

pub(super) use kernel::{Attributes, are_readable};

/// A buffer size that suffices for most lists and values: the kernel allocates and clears a buffer
/// of the same size.
const FEW: usize = 512;

/// The largest list of names, and value, in bytes (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MOST: usize = 64 << 10;

/// Returns no value for an attribute that is not there.
fn present(value: Result<Vec<u8>>) -> io::Result<Option<Vec<u8>>> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(errno) if errno == kernel::ABSENT => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns an empty list for a file system without attributes.
fn listed(list: Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    match list {
        Err(Errno::NOTSUP) => Ok(Vec::new()),
        list => Ok(list?),
    }
}

/// Calls with a small buffer, and again with the largest if that is too small.
fn growing(call: impl Fn(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    let mut few = [0_u8; FEW];
    match call(&mut few) {
        Ok(len) => Ok(few.get(..len).unwrap_or_default().to_vec()),
        Err(Errno::RANGE) => {
            let mut most = vec![0_u8; MOST];
            let len = call(&mut most)?;
            most.truncate(len);
            most.shrink_to_fit();
            Ok(most)
        }
        Err(errno) => Err(errno),
    }
}

pub(super) fn set(file: &File, name: &[u8], value: &[u8]) -> io::Result<()> {
    Ok(fsetxattr(file, name, value, XattrFlags::empty())?)
}

pub(super) fn copy(old: &File, new: &File) {
    let Ok(names) = growing(|buffer| flistxattr(old, buffer)) else {
        return;
    };
    let names = names.split(|byte| *byte == 0);
    for name in names.filter(|name| !name.is_empty()) {
        if let Ok(value) = growing(|buffer| fgetxattr(old, name, buffer)) {
            let _ = fsetxattr(new, name, &value, XattrFlags::empty());
        }
    }
}
