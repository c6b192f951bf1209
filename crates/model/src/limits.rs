//! The limits that keep a hostile image from exhausting memory or disks.

/// The most bytes of holes that are written as zeros, unless another limit is set: a small image
/// can have files with holes of 2^63 bytes.
pub const MAX_ZEROS: u64 = 256 << 30;

/// Limits on what a reader allocates because an image declares it.
///
/// Sizes are in bytes. The defaults admit every image that the tools of a format can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest decoded metadata.
    pub metadata: u64,
    /// The largest decoded block.
    pub block: u64,
    /// The largest number of sections or table blocks.
    pub sections: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metadata: 4 << 30,
            block: 1 << 30,
            sections: 1 << 28,
        }
    }
}
