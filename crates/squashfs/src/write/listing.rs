//! The written listing of a directory, as its inode refers to it.
//!
//! Format: `docs/formats/squashfs.md`, "Directories".

use sinterfs_model::{Content, Error, Result};

use crate::layout::inode::InodeType;

/// The listing of one directory.
#[derive(Debug)]
pub(super) struct Listing {
    /// The position in the decoded stream.
    pub(super) position: u64,
    /// The length in bytes.
    pub(super) len: u32,
    /// The offsets of the headers that begin metadata blocks, and the first link after each.
    pub(super) index: Vec<(u32, usize)>,
}

/// Converts the position of a metadata block for directories. `Limit` beyond 4 GiB.
pub(super) fn block_position(block: u64) -> Result<u32> {
    u32::try_from(block).map_err(|_| Error::limit("more than 4 GiB of SquashFS metadata"))
}

/// Returns the basic type of an inode.
pub(super) const fn basic_type(content: &Content) -> u16 {
    match content {
        Content::Directory { .. } => InodeType::DIRECTORY,
        Content::File { .. } => InodeType::FILE,
        Content::Symlink(_) => InodeType::SYMLINK,
        Content::CharDevice(_) => InodeType::CHAR_DEVICE,
        Content::BlockDevice(_) => InodeType::BLOCK_DEVICE,
        Content::Fifo => InodeType::FIFO,
        Content::Socket => InodeType::SOCKET,
    }
}
