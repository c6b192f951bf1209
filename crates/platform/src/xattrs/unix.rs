//! Attributes by system calls.
//!
//! A call for a name in an open directory exists only since Linux 6.13; until it is common, the
//! path goes through `/proc`. On macOS the file is opened; a symlink has none there. ACLs are read
//! as Linux presents them (`system.posix_acl_access`, `system.posix_acl_default`).

use std::fs::File;
use std::io;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
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
const USUAL_LEN: usize = 512;

/// The largest list of names, and value, in bytes (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MAX_LEN: usize = 64 << 10;

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
    let mut few = [0_u8; USUAL_LEN];
    match call(&mut few) {
        Ok(len) => Ok(few.get(..len).unwrap_or_default().to_vec()),
        Err(Errno::RANGE) => {
            let mut most = vec![0_u8; MAX_LEN];
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

/// Returns the names of the attributes of a file.
fn names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let list = listed(growing(|buffer| flistxattr(file, buffer)))?;
    let names = list.split(|byte| *byte == 0);
    Ok(names
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect())
}

/// Returns whether an attribute is an access control list: POSIX, NFSv4, CIFS.
fn is_access_list(name: &[u8]) -> bool {
    name.starts_with(b"system.") && name.windows(3).any(|part| part == b"acl")
}

/// Returns whether an attribute says what a security module thinks of a file. Capabilities, and
/// what was measured of its content, belong to the content.
fn is_label(name: &[u8]) -> bool {
    let of_content = [
        &b"security.capability"[..],
        b"security.ima",
        b"security.evm",
    ];
    name.starts_with(b"security.") && !of_content.contains(&name)
}

fn copy_one(old: &File, new: &File, name: &[u8]) -> io::Result<()> {
    let value = growing(|buffer| fgetxattr(old, name, buffer))?;
    set(new, name, &value)
}

pub(super) fn copy(old: &File, new: &File) {
    for name in names(old).unwrap_or_default() {
        if !is_access_list(&name) {
            let _ = copy_one(old, new, &name);
        }
    }
}

pub(super) fn copy_access(old: &File, new: &File) -> io::Result<()> {
    let wanted = names(old)?;
    for name in names(new)? {
        if is_access_list(&name) && !wanted.contains(&name) {
            fremovexattr(new, &*name)?;
        }
    }
    for name in wanted {
        if is_label(&name) {
            let _ = copy_one(old, new, &name);
        } else if is_access_list(&name) {
            copy_one(old, new, &name)?;
        }
    }
    Ok(())
}

pub(super) fn remove_access_lists(file: &File) -> bool {
    let lists = names(file).unwrap_or_default();
    for name in lists.iter().filter(|name| is_access_list(name)) {
        let _ = fremovexattr(file, &**name);
    }
    has_access_lists(file).is_ok_and(|has| !has)
}

pub(super) fn has_access_lists(file: &File) -> io::Result<bool> {
    Ok(names(file)?.iter().any(|name| is_access_list(name)))
}
