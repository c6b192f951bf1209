//! The bounds that keep a hostile image from taking all memory.

/// Bounds what a reader may allocate on the word of an image.
///
/// Sizes are bytes. The defaults open every image that upstream's tools write with any option.
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
