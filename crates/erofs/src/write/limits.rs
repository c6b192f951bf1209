//! Sizes that the parts of the writer share.

use crate::layout::compressed::ClusterIndex;

/// Bytes of a block of the file system, as a power of two.
pub(crate) const BLOCK_BITS: u8 = 12;

/// Bytes of a block of the file system.
pub(crate) const BLOCK: u64 = 1 << BLOCK_BITS;

/// The longest inline tail of any inode: short enough to fit at some place of a block.
pub(crate) const INLINE_MAX: u64 = BLOCK - 64;

/// The longest inline tail of a file. Two longer ones do not share a block, so they would gain
/// little, and a reader of all inodes would read them, too.
pub(super) const FILE_INLINE_MAX: u64 = BLOCK / 2;

/// Returns whether an inline tail of a file may have so many bytes.
pub(super) fn is_short_tail(len: usize) -> bool {
    (1..=FILE_INLINE_MAX).contains(&(len as u64))
}

/// The longest unit, a bound on memory.
pub(super) const UNIT_MAX: u32 = 4 << 20;

const _: () = assert!(UNIT_MAX >> BLOCK_BITS < ClusterIndex::BLOCK_COUNT as u32);
