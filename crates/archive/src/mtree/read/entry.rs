//! The contents of a list: one entry for each path.
//!
//! **Invariant:** a field that no keyword of the path sets is `None` or empty.

use sinterfs_model::{FileType, Rdev, Time};

use crate::member::Notes;

/// The entry of one path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MtreeEntry {
    /// Names from the root on, with slashes between them; empty for the root.
    pub path: Vec<u8>,
    /// The line that names it first, counted from 1.
    pub line: u64,
    /// The type.
    pub kind: Option<FileType>,
    /// Permissions: twelve bits.
    pub mode: Option<u16>,
    /// The owner's number.
    pub uid: Option<u32>,
    /// The group's number.
    pub gid: Option<u32>,
    /// The time of modification.
    pub time: Option<Time>,
    /// Bytes of a file.
    pub size: Option<u64>,
    /// A symlink's target.
    pub target: Option<Vec<u8>>,
    /// A device's number.
    pub rdev: Option<Rdev>,
    /// The number of names.
    pub nlink: Option<u64>,
    /// The number of the inode, and of its device if that is given.
    pub inode: Option<(u64, Vec<u8>)>,
    /// The path of a file with the content.
    pub content: Option<Vec<u8>>,
    /// Whether it may be missing.
    pub optional: bool,
    /// Digests of the content.
    pub digests: Vec<(Algorithm, Vec<u8>)>,
}

impl MtreeEntry {
    /// Returns whether the entry needs nothing of a file on disk.
    pub fn is_complete(&self) -> bool {
        let looks = self.mode.is_some() && self.uid.is_some() && self.gid.is_some();
        let holds = match self.kind {
            None | Some(FileType::File) => false,
            Some(FileType::Symlink) => self.target.is_some(),
            Some(FileType::CharDevice | FileType::BlockDevice) => self.rdev.is_some(),
            Some(FileType::Directory | FileType::Fifo | FileType::Socket) => true,
        };
        looks && holds && self.time.is_some() && !self.optional
    }
}

/// The algorithm of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// A whole list.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Each path once.
    pub entries: Vec<MtreeEntry>,
    /// Keywords that are given and not understood, counted.
    pub notes: Notes,
}
