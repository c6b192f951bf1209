//! One file of an archive of any format.
//!
//! Paths and targets are the archive's own bytes: nothing is taken off them, nothing is refused
//! here. **Invariant:** the runs of a file are in order, do not overlap, end within it, and are as
//! long together as what the archive stores of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sinterfs_model::{Meta, Rdev, Xattrs};

/// One file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name as the archive has it.
    pub path: Vec<u8>,
    /// Permissions, owner, times.
    pub meta: Meta,
    /// The type of the member.
    pub kind: Kind,
    /// Extended attributes, sorted by name.
    pub xattrs: Xattrs,
    /// The length of the content, holes included. A hard link may come with a copy of the content;
    /// bytes after the header of a directory, a device or the like are skipped.
    pub size: u64,
    /// The ranges of data, if there are holes; they are stored one after the other.
    pub map: Option<Vec<DataRun>>,
    /// The position of the stored content in the stream.
    pub content: u64,
    /// The position of the header in the stream, for messages.
    pub at: u64,
    /// Notes for the user about how the member was read.
    pub remark: Option<Cow<'static, str>>,
}

/// The type of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symlink and its target.
    Symlink(Vec<u8>),
    /// One more name of the member of this path.
    HardLink(Vec<u8>),
    /// A character device.
    CharDevice(Rdev),
    /// A block device.
    BlockDevice(Rdev),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

/// A range of a file that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRun {
    /// Its position in the file.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

impl DataRun {
    /// Returns where it ends; `None` beyond what 64 bits count.
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// Something in an archive that no member represents, in words that follow a number.
pub type Notes = BTreeMap<&'static str, u64>;
