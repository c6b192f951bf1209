//! Writing side, second input beside the source: an image whose stored blocks a new image reuses.
//!
//! **Invariant:** neither the blocks nor the content map change while the base is in use.

use crate::{ContentMap, Result};

/// An image that a new one is built on; may be used by many threads at once.
pub trait Base: Send + Sync {
    /// Returns the number of blocks.
    fn blocks(&self) -> u32;

    /// Returns the size in bytes of the largest decoded block.
    fn block_size(&self) -> u64;

    /// Decodes a block.
    ///
    /// # Errors
    /// `Corrupt`, with the place in the image, if the block is damaged.
    fn decode(&self, block: u32) -> Result<Vec<u8>>;

    /// Returns the content map of the image, with one list for each distinct content.
    fn content(&self) -> &ContentMap;
}
