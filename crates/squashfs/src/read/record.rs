//! An inode of any version, decoded.
//!
//! In: fields of an inode. Out: `InodeRecord`, and the conversions that all versions share.
//!
//! **Invariant:** only what the inode itself contains: owners are indexes, lists are positions.
//! Format: `docs/formats/squashfs.md`, "Inodes".

use sinterfs_model::{Error, FileType, Rdev, Result};

use super::metadata::MetaPosition;
use crate::layout::inode::InodeType;
use crate::layout::{DIRECTORY_SIZE_EXTRA, NO_FRAGMENT};

/// The longest target of a symlink in bytes; Linux creates none above 4095.
const TARGET_MAX: u32 = 1 << 16;

/// A decoded inode.
#[derive(Debug, Clone)]
pub(crate) struct InodeRecord {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(crate) owner: Owner,
    /// Modification time in seconds since 1970; `None` in versions without it.
    pub(crate) modified: Option<u32>,
    /// The inode's number; 0 before version 3.
    pub(crate) number: u32,
    /// The link count; `None` before version 3.
    pub(crate) nlink: Option<u32>,
    /// The id of its attribute list, or `NO_XATTR`.
    pub(crate) xattr: u32,
    pub(crate) body: InodeBody,
}

/// Stored owner and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Two indexes into the id table.
    Ids { user: u16, group: u16 },
    /// Indexes into two tables; without a group, the group is the owner's id.
    Arrays { user: u16, group: Option<u8> },
}

/// The fields of an inode's type.
#[derive(Debug, Clone)]
pub(crate) enum InodeBody {
    Directory(DirectoryLocation),
    File(FileBlocks),
    /// The length and position of the target.
    Symlink {
        len: u32,
        at: MetaPosition,
    },
    Device(Rdev),
    Ipc,
}

/// The position of a directory's entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectoryLocation {
    /// The distance of the metadata block from the start of the directory table.
    pub(crate) block: u64,
    /// The offset in the decoded block.
    pub(crate) offset: u16,
    /// The length of the listing in bytes.
    pub(crate) len: u32,
    /// The stored size.
    pub(crate) size: u32,
    /// The inode number of the parent; 0 before version 3.
    pub(crate) parent: u32,
    /// The number of entries of the index, and its position.
    pub(crate) index: (u16, MetaPosition),
}

/// The position of a file's content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileBlocks {
    /// The position of the first block.
    pub(crate) start: u64,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The bytes in holes.
    pub(crate) sparse: u64,
    /// The fragment block of the tail, and the offset in it.
    pub(crate) fragment: Option<(u32, u32)>,
    /// The position of the sizes of the blocks.
    pub(crate) words: MetaPosition,
}

impl FileBlocks {
    /// Returns the number of blocks, without a tail in a fragment.
    pub(crate) fn blocks(&self, block_size: u32) -> u64 {
        let unit = u64::from(block_size);
        match self.fragment {
            Some(_) => self.size / unit,
            None => self.size.div_ceil(unit),
        }
    }
}

/// Fails with `Corrupt` for a target that is empty or too long.
pub(super) fn check_target(len: u32) -> Result<()> {
    if (1..=TARGET_MAX).contains(&len) {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "expected a symlink of 1 to {TARGET_MAX} bytes, found {len}"
    )))
}

/// Converts a basic or extended inode type.
pub(crate) fn file_type(kind: u16) -> Result<FileType> {
    let basic = match kind {
        1..=InodeType::EXTENDED => kind,
        _ => kind.saturating_sub(InodeType::EXTENDED),
    };
    Ok(match basic {
        InodeType::DIRECTORY => FileType::Directory,
        InodeType::FILE => FileType::File,
        InodeType::SYMLINK => FileType::Symlink,
        InodeType::BLOCK_DEVICE => FileType::BlockDevice,
        InodeType::CHAR_DEVICE => FileType::CharDevice,
        InodeType::FIFO => FileType::Fifo,
        InodeType::SOCKET => FileType::Socket,
        _ => return Err(Error::corrupt(format!("unknown inode type {kind}"))),
    })
}

/// Returns the length of a listing from the stored size, which is larger by three.
pub(crate) fn listing_len(size: u32) -> u32 {
    size.saturating_sub(DIRECTORY_SIZE_EXTRA)
}

/// Returns the fragment block and offset of a file's tail, if it is in a fragment.
pub(crate) fn fragment(index: u32, offset: u32) -> Option<(u32, u32)> {
    (index != NO_FRAGMENT).then_some((index, offset))
}
