//! Reads the extended attributes of a name in an open directory.
//!
//! A system call for a name in an open directory exists only since Linux 6.13; until it is common,
//! the path goes through `/proc`. ACLs are read as the kernel presents them
//! (`system.posix_acl_access`, `system.posix_acl_default`).
//! **Invariant:** no symlink is followed; a name without attributes costs one system call.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{lgetxattr, llistxattr};
use rustix::io::{Errno, Result};
use sinterfs_model::Xattrs;

/// A buffer size that suffices for most lists and values: the kernel allocates and clears a buffer
/// of the same size.
const FEW: usize = 512;

/// The largest list of names, and value, in bytes (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MOST: usize = 64 << 10;

/// Returns whether attributes can be read: `/proc` may be missing.
pub(super) fn are_readable(dir: &OwnedFd) -> bool {
    let listed = llistxattr(&*path(dir, c"."), &mut [0_u8; 1][..]);
    !matches!(listed, Err(Errno::NOENT | Errno::NOTDIR))
}

/// Reads all attributes of a name; passes those that cannot be read to `warn` and leaves them out.
pub(super) fn read(dir: &OwnedFd, name: &CStr, warn: &mut dyn FnMut(String, Errno)) -> Xattrs {
    let path = path(dir, name);
    let names = match growing(|buffer| llistxattr(&*path, buffer)) {
        Ok(names) => names,
        // a file system without attributes
        Err(Errno::NOTSUP) => return Xattrs::new(),
        Err(errno) => {
            warn(
                "cannot list the extended attributes, left out".to_owned(),
                errno,
            );
            return Xattrs::new();
        }
    };
    let mut names: Vec<&[u8]> = names.split(|&byte| byte == 0).collect();
    // a FUSE file system may return any list
    names.sort_unstable();
    names.dedup();
    let mut xattrs = Xattrs::new();
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        match growing(|buffer| lgetxattr(&*path, name, buffer)) {
            Ok(value) => xattrs.push((name.to_vec(), value)),
            // removed meanwhile
            Err(Errno::NODATA) => {}
            Err(errno) => {
                let name = String::from_utf8_lossy(name);
                warn(
                    format!("cannot read the extended attribute {name}, left out"),
                    errno,
                );
            }
        }
    }
    xattrs
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

/// Returns a path that leads to a name in an open directory.
fn path(dir: &OwnedFd, name: &CStr) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    path
}
