//! The address space of a synthetic image.
//!
//! Each region has a fixed start, so that every inode can be written before all lengths are known:
//!
//! ```text
//! 0            4096     4 GiB               8 GiB                   16 GiB
//! +------------+--------+-------------------+-----------------------+----------------+
//! | superblock | inodes | shared attributes | blocks of directories | content        |
//! +------------+--------+-------------------+-----------------------+----------------+
//! ```

use crate::write::BLOCK;

/// The start of inodes. Not at 0: programs take the inode number 0 for a deleted name.
pub(super) const INODES: u64 = BLOCK;

/// The start of shared attributes.
pub(super) const XATTRS: u64 = 4 << 30;

/// The start of directory blocks.
pub(super) const DIRECTORIES: u64 = 8 << 30;

/// The start of content.
pub(super) const CONTENT: u64 = 16 << 30;
