//! The metadata of an inode.

use std::time::{Duration, SystemTime};

use sinterfs_model::{FileType, Inode, Rdev, Time, Times};

/// The attributes that `stat` reports of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata(Inode);

impl Metadata {
    pub(super) fn new(inode: Inode) -> Self {
        Self(inode)
    }

    /// Returns the type.
    pub fn file_type(&self) -> FileType {
        self.0.kind
    }

    /// Returns whether this is a directory.
    pub fn is_dir(&self) -> bool {
        self.0.kind == FileType::Directory
    }

    /// Returns whether this is a regular file.
    pub fn is_file(&self) -> bool {
        self.0.kind == FileType::File
    }

    /// Returns whether this is a symlink.
    pub fn is_symlink(&self) -> bool {
        self.0.kind == FileType::Symlink
    }

    /// Returns the length in bytes: of a file its content, of a symlink its target; that of a
    /// directory is the format's own measure.
    #[allow(clippy::len_without_is_empty, reason = "as std::fs::Metadata")]
    pub fn len(&self) -> u64 {
        self.0.size
    }

    /// Returns the bytes that are not in holes.
    pub fn allocated(&self) -> u64 {
        self.0.allocated
    }

    /// Returns the mode: the bits of the type and the permissions.
    pub fn mode(&self) -> u32 {
        self.0.kind.bits() | u32::from(self.0.meta.mode)
    }

    /// Returns the owner.
    pub fn uid(&self) -> u32 {
        self.0.meta.uid
    }

    /// Returns the group.
    pub fn gid(&self) -> u32 {
        self.0.meta.gid
    }

    /// Returns the number of names; for a directory two plus its subdirectories.
    pub fn nlink(&self) -> u32 {
        self.0.nlink
    }

    /// Returns the inode number, which is stable for the image.
    pub fn ino(&self) -> u64 {
        self.0.ino.0
    }

    /// Returns the device number of a device.
    pub fn rdev(&self) -> Rdev {
        self.0.rdev
    }

    /// Returns the time of the last change of the content; `None` for a time that the system
    /// cannot represent.
    pub fn modified(&self) -> Option<SystemTime> {
        system_time(self.0.meta.times.modified)
    }

    /// Returns all times, as they are stored.
    pub fn times(&self) -> Times {
        self.0.meta.times
    }
}

fn system_time(time: Time) -> Option<SystemTime> {
    let seconds = Duration::from_secs(time.secs.unsigned_abs());
    let whole = if time.secs < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(seconds)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(seconds)
    };
    whole?.checked_add(Duration::from_nanos(time.nanos.into()))
}
