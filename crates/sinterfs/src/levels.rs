//! What `--level` means: codec, block size and order. Upstream's mkdwarfs has the same ten
//! levels, so that its users find what they know.

use crate::Order;

/// The settings of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The compression of blocks.
    pub compression: &'static str,
    /// The compression of metadata.
    pub metadata_compression: &'static str,
    /// Bytes of a block, as a power of two.
    pub block_bits: u8,
    /// The order of files.
    pub order: Order,
}

const fn level(
    compression: &'static str,
    metadata_compression: &'static str,
    block_bits: u8,
    order: Order,
) -> Level {
    Level {
        compression,
        metadata_compression,
        block_bits,
        order,
    }
}

/// The level that is used unless another is asked for.
pub const DEFAULT: u8 = 7;

/// Levels 0 to 9. Fast levels keep metadata uncompressed, so that it need not be decoded.
const LEVELS: [Level; 10] = [
    level("none", "none", 20, Order::None),
    level("lz4", "none", 20, Order::Path),
    level("lz4hc:level=9", "none", 20, Order::Path),
    level("lz4hc:level=9", "none", 21, Order::Similarity),
    level("zstd:level=11", "none", 22, Order::Similarity),
    level("zstd:level=19", "none", 22, Order::Similarity),
    level("zstd:level=22", "none", 24, Order::Similarity),
    level("zstd:level=22", "zstd:level=22", 24, Order::Similarity),
    level("lzma:level=9", "lzma:level=9", 24, Order::Similarity),
    level("lzma:level=9", "lzma:level=9", 26, Order::Similarity),
];

/// Tells the settings of a level from 0 to 9; higher numbers mean 9.
pub fn settings(level: u8) -> &'static Level {
    &LEVELS[usize::from(level).min(LEVELS.len() - 1)]
}
