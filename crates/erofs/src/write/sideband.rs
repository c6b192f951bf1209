//! Data that encoder threads hand to each other and to the writer, in addition to the blocks.
//!
//! Both parts depend only on the sequence of units, not on the order in which threads finish.

use std::sync::Arc;

use super::encoded::EncodedUnits;
use super::options::WriteOptions;
use super::packed_tails::PackedTails;

/// The tables that the encoder fills and the writer reads; either is `None` where the options do
/// not ask for it.
#[derive(Debug)]
pub(super) struct BlockSideband {
    /// The encoded form of units that later ones may refer to.
    pub(super) encoded: Option<EncodedUnits>,
    /// Tails that share pclusters of the packed inode.
    pub(super) tails: Option<PackedTails>,
}

impl BlockSideband {
    /// Creates the empty tables that the options ask for.
    pub(super) fn new(options: &WriteOptions) -> Arc<Self> {
        let tails = || PackedTails::new(options.compression.clone(), options.block_size);
        Arc::new(Self {
            encoded: options.own.extended.dedupe.then(EncodedUnits::default),
            tails: options.shares_tails().then(tails),
        })
    }
}
