//! Locks of leaves between processes, so that one fetches what several want.
//!
//! In: the open file of sums, a byte of which is locked for each leaf. Out: whether this process is
//! the one. **Invariant:** a lock belongs to the open file, and goes with it at the latest. Only
//! Linux has such locks; elsewhere leaves may be fetched by several processes.

use std::fs::File;
use std::ops::Range;

#[cfg(target_os = "linux")]
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    libc,
};

/// Locks leaves; `false` if another process has some of them, `None` where there are no locks.
#[cfg(target_os = "linux")]
pub(super) fn lock(file: &File, leaves: &Range<u64>) -> Option<bool> {
    let lock = lock_of(leaves, libc::F_WRLCK);
    match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
        Ok(_) => Some(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Some(false),
        // a file system without locks
        Err(_) => None,
    }
}

/// Unlocks leaves.
#[cfg(target_os = "linux")]
pub(super) fn unlock(file: &File, leaves: &Range<u64>) {
    let lock = lock_of(leaves, libc::F_UNLCK);
    let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&lock));
}

/// Describes a lock of one byte for each leaf.
#[cfg(target_os = "linux")]
#[allow(
    clippy::cast_possible_truncation,
    reason = "constants of the system, which all fit"
)]
fn lock_of(leaves: &Range<u64>, kind: i32) -> libc::flock {
    let number = |value: u64| libc::off_t::try_from(value).unwrap_or(libc::off_t::MAX);
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: number(leaves.start),
        l_len: number(leaves.end.saturating_sub(leaves.start)),
        l_pid: 0,
    }
}

/// Locks nothing.
#[cfg(not(target_os = "linux"))]
pub(super) fn lock(_file: &File, _leaves: &Range<u64>) -> Option<bool> {
    None
}

/// Unlocks nothing.
#[cfg(not(target_os = "linux"))]
pub(super) fn unlock(_file: &File, _leaves: &Range<u64>) {}
