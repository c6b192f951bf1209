//! A block of an image as it is stored.

/// A stored block.
#[derive(Debug, Clone, Copy)]
pub struct StoredBlock<'a> {
    /// Its number, as extents name it.
    pub block: u64,
    /// Bytes in the image.
    pub stored: u64,
    /// What encoded it.
    pub codec: &'a str,
    /// The kind of its content, where that is known.
    pub category: &'a str,
}
