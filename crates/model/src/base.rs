//! Writing side, an entrance beside the source: an image whose blocks a new one takes over as they
//! are stored.
//!
//! **Invariant:** the blocks and what the map says of them never change while the base is in use.

use crate::{ContentMap, Result};

/// An image that a new one is built on. Many threads may ask at once.
pub trait Base: Send + Sync {
    /// Returns how many blocks it has.
    fn blocks(&self) -> u32;

    /// Returns the most bytes that a decoded block has.
    fn block_size(&self) -> u64;

    /// Decodes a block.
    ///
    /// # Errors
    /// `Corrupt`, with its place, for one that is damaged.
    fn decode(&self, block: u32) -> Result<Vec<u8>>;

    /// Returns where the content of its files is, a list for each content.
    fn content(&self) -> &ContentMap;
}
