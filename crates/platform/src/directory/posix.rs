//! Replacements of Linux' own calls on other systems: macOS.
//!
//! In: open directories and names. Out: open files and their status. **Invariant:** a path is
//! opened component by component, each with `O_NOFOLLOW`.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;

use rustix::fs::{self, AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use sinterfs_model::{FileType, Meta, Rdev, Time, Times};

pub(crate) use super::super::within::open_within;
use super::open_each;
use crate::status::{Identity, Status};

/// The way through a directory.
pub(super) const PATH: OFlags = OFlags::RDONLY;

/// A name of any type; symlinks are not opened.
pub(super) const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

pub(super) fn open_beneath(root: &File, path: &[u8], flags: OFlags) -> rustix::io::Result<File> {
    open_each(root, path, flags)
}

pub(crate) fn list(dir: &File, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
    for found in fs::Dir::read_from(dir)? {
        let found = match found {
            Err(Errno::INTR) => continue,
            found => found?,
        };
        let name = found.file_name().to_bytes();
        if !matches!(name, b"." | b"..") && each(name).is_break() {
            break;
        }
    }
    Ok(())
}

pub(crate) fn status_of(file: &File) -> io::Result<Status> {
    Ok(convert(&fs::fstat(file)?))
}

pub(crate) fn status(dir: &File, name: &[u8]) -> io::Result<Status> {
    Ok(convert(&fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

pub(crate) fn set_looked_mode(file: &File, mode: u32) -> io::Result<()> {
    super::set_open_mode(file, mode)
}

/// Makes nothing: there is no call that takes a directory, and devices have other numbers here.
pub(super) fn make_special(
    _dir: &File,
    _name: &[u8],
    _kind: FileType,
    _mode: Mode,
    _rdev: Rdev,
) -> rustix::io::Result<()> {
    Err(Errno::OPNOTSUPP)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "fields whose width and sign the systems choose, with values that fit"
)]
fn convert(stat: &Stat) -> Status {
    let time = |secs: i64, nanos: i64| Time {
        secs,
        nanos: nanos.clamp(0, 999_999_999) as u32,
    };
    let device = |number: u32| Rdev {
        major: number >> 24,
        minor: number & 0xff_ffff,
    };
    Status {
        identity: Identity {
            device: device(stat.st_dev as u32),
            ino: stat.st_ino,
        },
        kind: FileType::from_mode(u32::from(stat.st_mode)),
        meta: Meta {
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            times: Times {
                modified: time(stat.st_mtime, stat.st_mtime_nsec),
                accessed: time(stat.st_atime, stat.st_atime_nsec),
                changed: time(stat.st_ctime, stat.st_ctime_nsec),
            },
        },
        nlink: u32::from(stat.st_nlink),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        rdev: device(stat.st_rdev as u32),
    }
}
