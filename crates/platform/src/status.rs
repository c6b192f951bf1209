//! The status of a file in the types of the model.
//!
//! In: the system's answer. Out: type, metadata, identity. **Invariant:** what a system does not
//! have is what most files on Linux would have there (owner 0, mode 0644 or 0755).

use sinterfs_model::{FileType, Meta, Rdev};

/// The identity of an inode: device and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The device, or volume.
    pub device: Rdev,
    /// The number of the inode on it.
    pub ino: u64,
}

/// The status of one entry.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    /// Which file it is.
    pub identity: Identity,
    /// The type; `None` for an unknown one.
    pub kind: Option<FileType>,
    /// The metadata.
    pub meta: Meta,
    /// The number of names.
    pub nlink: u32,
    /// The length in bytes.
    pub size: u64,
    /// The number of the device that it is.
    pub rdev: Rdev,
}
