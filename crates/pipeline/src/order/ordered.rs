//! The result of ordering.
//!
//! **Invariant:** a permutation of the contents; those that should begin a block are among them.

use sinterfs_model::Category;

use crate::price_factor::PriceFactor;

/// Contents in the order of storage, and those that should begin a block.
#[derive(Debug)]
pub(crate) struct Ordered {
    /// The indices of the contents.
    pub contents: Vec<u32>,
    /// The indices of the contents that should begin a block.
    pub block_starts: Vec<u32>,
    /// The factor of the price of references, where it is not 1.
    pub price_factors: Vec<(Category, PriceFactor)>,
}
