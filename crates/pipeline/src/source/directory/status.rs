//! The result of `statx` in the types of the model.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Statx, StatxFlags, StatxTimestamp};
use rustix::io::Result;
use sinterfs_model::{FileType, Meta, Rdev, Time, Times};

/// The identity of an inode: device and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::source) struct Identity {
    pub device: Rdev,
    pub ino: u64,
}

/// The status of one entry.
#[derive(Debug, Clone, Copy)]
pub(in crate::source) struct Status {
    pub identity: Identity,
    /// `None` for an unknown type.
    pub kind: Option<FileType>,
    pub meta: Meta,
    pub nlink: u32,
    pub size: u64,
    pub rdev: Rdev,
}

/// Returns the status of an open file.
pub(in crate::source) fn of_fd(fd: impl AsFd) -> Result<Status> {
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).map(|s| convert(&s))
}

/// Returns the status of a name in a directory, without following a symlink.
pub(in crate::source) fn of_name(dir: impl AsFd, name: &CStr) -> Result<Status> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(dir, name, flags, StatxFlags::BASIC_STATS).map(|s| convert(&s))
}

fn convert(stat: &Statx) -> Status {
    let times = Times {
        modified: time(&stat.stx_mtime),
        accessed: time(&stat.stx_atime),
        changed: time(&stat.stx_ctime),
    };
    let device = Rdev {
        major: stat.stx_dev_major,
        minor: stat.stx_dev_minor,
    };
    Status {
        identity: Identity {
            device,
            ino: stat.stx_ino,
        },
        kind: FileType::from_mode(u32::from(stat.stx_mode)),
        meta: Meta {
            mode: stat.stx_mode & 0o7777,
            uid: stat.stx_uid,
            gid: stat.stx_gid,
            times,
        },
        nlink: stat.stx_nlink,
        size: stat.stx_size,
        rdev: Rdev {
            major: stat.stx_rdev_major,
            minor: stat.stx_rdev_minor,
        },
    }
}

fn time(stamp: &StatxTimestamp) -> Time {
    Time {
        secs: stamp.tv_sec,
        nanos: stamp.tv_nsec,
    }
}
