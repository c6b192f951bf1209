//! The sum of a leaf: what says that its bytes on disk are whole.

use sinterfs_block::checksum::xxh3_64;

/// Returns the sum of a leaf's bytes, which is never 0: that is the sum of an absent leaf.
pub(super) fn sum_of(bytes: &[u8]) -> u64 {
    xxh3_64(bytes).max(1)
}
