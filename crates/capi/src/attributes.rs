//! The attributes of a file that `stat` reports, as a plain structure.

use sinterfs::image::{Metadata, Time};

/// The attributes of a file. Times are seconds since 1970 and nanoseconds after that second.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SinterfsAttributes {
    /// The inode number; it stays the same for an image.
    pub ino: u64,
    /// The bytes of a file's content or of a symlink's target; the format's own measure for a
    /// directory.
    pub size: u64,
    /// The bytes that are not in holes.
    pub allocated: u64,
    /// The time of the last change of the content.
    pub mtime_sec: i64,
    /// The time of the last access.
    pub atime_sec: i64,
    /// The time of the last change of the inode.
    pub ctime_sec: i64,
    /// Nanoseconds of `mtime_sec`.
    pub mtime_nsec: u32,
    /// Nanoseconds of `atime_sec`.
    pub atime_nsec: u32,
    /// Nanoseconds of `ctime_sec`.
    pub ctime_nsec: u32,
    /// The type and the permissions, as `st_mode`.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The number of names; for a directory two plus its subdirectories.
    pub nlink: u32,
    /// The number of the driver of a device.
    pub rdev_major: u32,
    /// The number of the device among its driver's devices.
    pub rdev_minor: u32,
    /// 0.
    pub reserved: [u32; 7],
}

impl SinterfsAttributes {
    /// Takes over the metadata of an inode.
    pub(crate) fn new(metadata: &Metadata) -> Self {
        let times = metadata.times();
        let parts = |time: Time| (time.secs, time.nanos);
        let (mtime_sec, mtime_nsec) = parts(times.modified);
        let (atime_sec, atime_nsec) = parts(times.accessed);
        let (ctime_sec, ctime_nsec) = parts(times.changed);
        Self {
            ino: metadata.ino(),
            size: metadata.len(),
            allocated: metadata.allocated(),
            mtime_sec,
            atime_sec,
            ctime_sec,
            mtime_nsec,
            atime_nsec,
            ctime_nsec,
            mode: metadata.mode(),
            uid: metadata.uid(),
            gid: metadata.gid(),
            nlink: metadata.nlink(),
            rdev_major: metadata.rdev().major,
            rdev_minor: metadata.rdev().minor,
            reserved: [0; 7],
        }
    }
}
