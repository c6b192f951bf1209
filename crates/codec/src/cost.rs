//! The memory of encoders, and the distance up to which the encoders of this crate find repeats.
//!
//! In: the length of a block. Out: bytes, rounded up. **Invariant:** the estimates of memory are
//! upper bounds for the linked versions of the libraries.

use sinterfs_workers::MemoryNeeds;

use super::match_finder;

/// The distance up to which our encoders find repeats, as a power of two.
pub(super) const OWN_REACH: u32 = 26;

/// The memory of every encoder without its tables, in bytes.
pub(super) const BASE: u64 = 8 << 20;

/// Returns the power of two that covers a block, 10 at least.
#[cfg(any(feature = "brotli", feature = "lzma", feature = "zstd"))]
pub(super) fn log_of(len: u32) -> u32 {
    u64::from(len).next_power_of_two().trailing_zeros().max(10)
}

/// Returns the memory of an encoder of this crate for a block, plus `more` bytes.
pub(super) fn own_needs(len: u32, more: u64) -> MemoryNeeds {
    // a word a position and what the groups are dealt in, of what the table covers at a time, and
    // the tools of a thread for each slice
    MemoryNeeds {
        bytes: 7 * covered(len) + more,
        threads: match_finder::threads(len as usize),
    }
}

/// Returns the bytes of a block that a table covers at a time.
pub(super) fn covered(len: u32) -> u64 {
    u64::from(len).min(1 << OWN_REACH)
}
