//! Locks of ranges of a file between processes.
//!
//! In: an open file and a range of bytes, which need not exist. Out: whether this open file has the
//! lock. **Invariant:** a lock belongs to the open file, not to the process, and goes with it at
//! the latest. Only Linux has such locks.

use std::fs::File;
use std::ops::Range;

#[cfg(target_os = "linux")]
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    libc,
};

/// Locks bytes; `false` if another open file has a lock of some of them, `None` where there are no
/// locks.
#[cfg(target_os = "linux")]
pub fn lock(file: &File, bytes: &Range<u64>) -> Option<bool> {
    let lock = lock_of(bytes, libc::F_WRLCK);
    match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
        Ok(_) => Some(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Some(false),
        // a file system without locks
        Err(_) => None,
    }
}

/// Unlocks bytes.
#[cfg(target_os = "linux")]
pub fn unlock(file: &File, bytes: &Range<u64>) {
    let lock = lock_of(bytes, libc::F_UNLCK);
    let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&lock));
}

/// Describes a lock.
#[cfg(target_os = "linux")]
#[allow(
    clippy::cast_possible_truncation,
    reason = "constants of the system, which all fit"
)]
fn lock_of(bytes: &Range<u64>, kind: i32) -> libc::flock {
    let number = |value: u64| libc::off_t::try_from(value).unwrap_or(libc::off_t::MAX);
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: number(bytes.start),
        l_len: number(bytes.end.saturating_sub(bytes.start)),
        l_pid: 0,
    }
}

/// Locks nothing.
#[cfg(not(target_os = "linux"))]
pub fn lock(_file: &File, _bytes: &Range<u64>) -> Option<bool> {
    None
}

/// Unlocks nothing.
#[cfg(not(target_os = "linux"))]
pub fn unlock(_file: &File, _bytes: &Range<u64>) {}
