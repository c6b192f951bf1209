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

/// Where inodes begin. Not at 0: programs take the inode number 0 for a deleted name.
pub(super) const INODES: u64 = BLOCK;

/// Where shared attributes begin.
pub(super) const XATTRS: u64 = 4 << 30;

/// Where blocks of directories begin.
pub(super) const DIRECTORIES: u64 = 8 << 30;

/// Where content begins.
pub(super) const CONTENT: u64 = 16 << 30;
