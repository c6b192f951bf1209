//! The result of ordering.
//!
//! **Invariant:** a permutation of the contents; those that should begin a block are among them.

/// Contents in the order of storage, and those that should begin a block.
#[derive(Debug)]
pub(crate) struct Ordered {
    /// The indices of the contents.
    pub contents: Vec<u32>,
    /// The indices of the contents that should begin a block.
    pub block_starts: Vec<u32>,
}
