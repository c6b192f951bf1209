//! An inode of any version, decoded.
//!
//! In: fields of an inode. Out: `Record`, and the conversions that all versions share.
//!
//! **Invariant:** only what the inode itself contains: owners are indexes, lists are positions.
//! Format: `docs/formats/squashfs.md`, "Inodes".

use sinterfs_model::{Error, FileType, Rdev, Result};

use super::metadata::MetaPosition;
use crate::layout::inode::InodeType;
use crate::layout::{DIRECTORY_SIZE_EXTRA, NO_FRAGMENT};

/// The longest target of a symlink, in bytes; Linux makes none above 4095.
const TARGET_MAX: u32 = 1 << 16;

/// What an inode says.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(crate) owner: Owner,
    /// Seconds since 1970; `None` where an old version keeps no time.
    pub(crate) modified: Option<u32>,
    /// The inode's number; 0 before version 3, which has none.
    pub(crate) number: u32,
    /// The number of names; `None` before version 3, which has none.
    pub(crate) nlink: Option<u32>,
    /// The id of its extended attributes, or `NO_XATTR`.
    pub(crate) xattr: u32,
    pub(crate) body: Body,
}

/// Owner and group as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Two indexes into the one id table.
    Ids { user: u16, group: u16 },
    /// Indexes into two tables; no group means that of the owner's id.
    Arrays { user: u16, group: Option<u8> },
}

/// What a type adds.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Directory(Listing),
    File(Content),
    /// A target of so many bytes at this place.
    Symlink {
        len: u32,
        at: MetaPosition,
    },
    Device(Rdev),
    Ipc,
}

/// Where a directory's entries are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    /// The distance of the metadata block from the start of the directory table.
    pub(crate) block: u64,
    /// The offset in it.
    pub(crate) offset: u16,
    /// Bytes of the listing.
    pub(crate) len: u32,
    /// The size as it is stored.
    pub(crate) size: u32,
    /// The number of the inode above; 0 before version 3.
    pub(crate) parent: u32,
    /// How many entries the index has, and where it starts.
    pub(crate) index: (u16, MetaPosition),
}

/// Where a file's content is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    /// Where the first block starts.
    pub(crate) start: u64,
    /// Bytes of content.
    pub(crate) size: u64,
    /// Bytes of these in holes.
    pub(crate) sparse: u64,
    /// The fragment block of the tail, and the offset in it.
    pub(crate) fragment: Option<(u32, u32)>,
    /// Where the sizes of the blocks start.
    pub(crate) words: MetaPosition,
}

impl Content {
    /// Returns the number of whole blocks, or of all where the tail has a block of its own.
    pub(crate) fn blocks(&self, block_size: u32) -> u64 {
        let unit = u64::from(block_size);
        match self.fragment {
            Some(_) => self.size / unit,
            None => self.size.div_ceil(unit),
        }
    }
}

/// Fails for a target that is empty or too long.
pub(super) fn check_target(len: u32) -> Result<()> {
    if (1..=TARGET_MAX).contains(&len) {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "expected a symlink of 1 to {TARGET_MAX} bytes, found {len}"
    )))
}

/// Returns the type that a number means, basic or extended.
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

/// Returns the bytes of a listing by a directory's size, which counts three more.
pub(crate) fn listing_len(size: u32) -> u32 {
    size.saturating_sub(DIRECTORY_SIZE_EXTRA)
}

/// Returns where a file's tail is.
pub(crate) fn fragment(index: u32, offset: u32) -> Option<(u32, u32)> {
    (index != NO_FRAGMENT).then_some((index, offset))
}
