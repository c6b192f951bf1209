//! The blocks that a reader of the current content decodes, and the price of references that add to
//! them.
//!
//! Enters the ranges that a content uses; leaves a decision for each match in another block. A
//! reader decodes a block from its beginning as far as it is needed, so a match costs what it makes
//! the reader decode beyond what the content needs of that block already. Refused matches count for
//! later matches in the same block: many short ones are worth as much as a long one. The price
//! doubles when what was accepted makes a reader decode as much as the content is long, and so on.
//! It is higher in categories whose contents repeat each other (`PriceFactor`). **Invariant:**
//! depends only on the content and the matches. Memory: 24 bytes for each block that the content
//! uses or matches.

use std::collections::HashMap;

use crate::price_factor::PriceFactor;

/// Bytes that may be decoded for each byte that is not stored again.
const DECODED_PER_SAVED: u64 = 128;

/// Shorter contents pay in proportion: most of what they refer to is decoded for others anyway.
const FULL_PRICE_FROM: u64 = 2 << 20;

/// A block that the current content uses, or has matches in.
#[derive(Debug, Clone, Copy, Default)]
struct BlockReach {
    /// The end of what is decoded of it.
    decoded: u64,
    /// Matched bytes that were refused.
    refused: u64,
}

/// The blocks of the current content.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// The length of the content.
    len: u64,
    factor: PriceFactor,
    /// The bytes that accepted matches add to what a reader decodes.
    accepted: u64,
    blocks: HashMap<u32, BlockReach>,
}

impl Reach {
    /// Starts with a content of `len` bytes.
    pub(super) fn new(len: u64, factor: PriceFactor) -> Self {
        Self {
            len,
            factor,
            accepted: 0,
            blocks: HashMap::new(),
        }
    }

    /// Records that the content uses a block up to an offset.
    pub(super) fn uses(&mut self, block: u32, end: u64) {
        let block = self.blocks.entry(block).or_default();
        block.decoded = block.decoded.max(end);
    }

    /// Returns whether a match of `len` bytes that ends at an offset of a block is worth its price.
    pub(super) fn accepts(&mut self, block: u32, end: u64, len: u64) -> bool {
        let block = self.blocks.entry(block).or_default();
        let decoded = end.saturating_sub(block.decoded);
        let share = self.len.min(FULL_PRICE_FROM);
        let price = decoded / DECODED_PER_SAVED * share / FULL_PRICE_FROM;
        // the more a reader decodes for it already, the dearer is more
        let own = self.len.max(FULL_PRICE_FROM);
        let price = price.saturating_mul(own.saturating_add(self.accepted)) / own;
        let price = self.factor.times(price);
        // a content that is completely in another block needs no further block
        if len == self.len || block.refused + len >= price {
            self.accepted = self.accepted.saturating_add(decoded);
            return true;
        }
        block.refused += len;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_match_must_save_what_its_decoding_costs() {
        let mut reach = Reach::new(20 * MIB, PriceFactor::default());
        assert!(!reach.accepts(1, 16 * MIB, 1000));
        assert!(reach.accepts(1, 16 * MIB, 128 << 10));
        // the beginning of a block is cheap, and what is decoded already costs nothing
        assert!(reach.accepts(2, 64_000, 1000));
        reach.uses(3, 16 * MIB);
        assert!(reach.accepts(3, 15 * MIB, 512));
    }

    #[test]
    fn many_short_matches_are_worth_a_long_one() {
        let mut reach = Reach::new(20 * MIB, PriceFactor::default());
        let refused = (0..1000).take_while(|_| !reach.accepts(1, 16 * MIB, 1 << 10));
        assert_eq!(refused.count(), 127);
    }

    #[test]
    fn the_price_rises_with_what_is_decoded_already() {
        let mut reach = Reach::new(16 * MIB, PriceFactor::default());
        assert!(reach.accepts(1, 16 * MIB, 128 << 10));
        assert!(!reach.accepts(2, 16 * MIB, 128 << 10));
        assert!(reach.accepts(2, 16 * MIB, 128 << 10));
        assert!(!reach.accepts(3, 16 * MIB, 383 << 10));
        assert!(reach.accepts(3, 16 * MIB, 1 << 10));
    }

    #[test]
    fn references_are_dearer_where_contents_repeat_each_other() {
        let mut reach = Reach::new(20 * MIB, PriceFactor::of(150, 100));
        assert!(!reach.accepts(1, 16 * MIB, (512 << 10) - 1));
        assert!(reach.accepts(1, 16 * MIB, 1));
    }

    #[test]
    fn short_contents_pay_less_and_whole_ones_nothing() {
        let mut reach = Reach::new(20 << 10, PriceFactor::default());
        assert!(!reach.accepts(1, 16 * MIB, 1000));
        assert!(reach.accepts(1, 16 * MIB, 2000));
        assert!(Reach::new(1 << 30, PriceFactor::default()).accepts(1, 1 << 30, 1 << 30));
    }
}
