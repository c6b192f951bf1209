//! Sizes that the parts of the writer share.

use sinterfs_model::{Error, Result};

use crate::layout::compressed::ClusterIndex;

/// Bytes of a block of the file system, as a power of two.
pub(crate) const BLOCK_BITS: u8 = 12;

/// Bytes of a block of the file system.
pub(crate) const BLOCK: u64 = 1 << BLOCK_BITS;

/// The longest inline tail of a file. Two longer ones do not share a block, so they would gain
/// little, and a reader of all inodes would read them, too.
pub(super) const FILE_INLINE_MAX: u64 = BLOCK / 2;

/// Returns whether an inline tail of a file may have the given length.
pub(super) fn is_short_tail(len: usize) -> bool {
    (1..=FILE_INLINE_MAX).contains(&(len as u64))
}

/// The longest unit, a bound on memory.
pub(super) const UNIT_MAX: u32 = 4 << 20;

const _: () = assert!(UNIT_MAX >> BLOCK_BITS < ClusterIndex::BLOCK_COUNT as u32);

/// The size of EROFS blocks, the unit of addresses; by default 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    bits: u8,
}

impl Default for BlockSize {
    fn default() -> Self {
        Self { bits: BLOCK_BITS }
    }
}

impl BlockSize {
    /// Takes a number of bytes: a power of two from 512 to 4096, as no larger ones are mounted
    /// where pages have 4 KiB. Fails with `Unsupported` for others.
    pub fn of(bytes: u64) -> Result<Self> {
        let is_known = bytes.is_power_of_two() && (512..=BLOCK).contains(&bytes);
        let bits = u8::try_from(bytes.trailing_zeros()).ok();
        bits.filter(|_| is_known)
            .map(|bits| Self { bits })
            .ok_or_else(|| {
                Error::unsupported(format!(
                    "EROFS blocks of {bytes} bytes: 512, 1024, 2048 and 4096 are written"
                ))
            })
    }

    /// Returns it as a power of two.
    pub(super) const fn bits(self) -> u8 {
        self.bits
    }

    /// Returns it in bytes.
    pub(crate) const fn bytes(self) -> u64 {
        1 << self.bits
    }

    /// Returns the longest inline tail of any inode: short enough to fit at some place of a block.
    pub(crate) const fn inline_max(self) -> u64 {
        self.bytes() - 64
    }
}
