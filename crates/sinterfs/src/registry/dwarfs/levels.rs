//! The levels of DwarFS: a front of size, build time and bytes decoded by a cold read
//! (docs/adr/0005).
//!
//! Each is smaller and faster than its nearest one of upstream's mkdwarfs, whose own settings can
//! be had by explicit options. Up to 5 a block decodes at 500 MB/s or more and metadata is not
//! encoded; from 6 on blocks are LZMA2, the smallest there is for its build time, at 100 to
//! 200 MB/s.

use sinterfs_pipeline::Order;

use crate::write::level::{Level, SpecialCodecs};

/// The levels.
pub(super) const LEVELS: [Level; 10] = [
    fast("none", 24, Order::None, None),
    fast("lz4", 20, Order::Path, Some(0)),
    fast("zstd:level=1:window=24", 24, Order::Path, Some(2)),
    fast("zstd:level=5:window=24", 24, Order::Similarity, Some(4)),
    small("zstd:level=9:window=26:long", "none", 26, 6),
    small("zstd:level=15:window=26:long", "none", 26, 7),
    small("lzma2:level=2:binary=auto", "zstd:level=22", 24, 8),
    small("lzma2:level=6:binary=auto", "zstd:level=22", 26, 8),
    small("lzma2:level=7:binary=auto", "lzma:level=9", 26, 8),
    small("lzma2:level=9:binary=auto", "lzma:level=9", 26, 8),
];

/// The compression of content that looks incompressible, from level 4 on: repeats over a long
/// distance are all that is worth looking for. It made debian-desktop 2.6 % smaller; LZMA2 gains
/// 0.1 % more and decodes it far slower.
const LONG_REPEATS: &str = "zstd:level=3:window=26:long";

/// The compression of the files needed first, from level 4 on: the smallest that decodes fast.
const HOT: &str = "zstd:level=19";

/// Returns a level from 0 to 3.
const fn fast(compression: &'static str, block_bits: u8, order: Order, flac: Option<u32>) -> Level {
    Level {
        compression,
        metadata_compression: "none",
        block_bits,
        order,
        special: SpecialCodecs {
            flac,
            ..SpecialCodecs::NONE
        },
    }
}

/// Returns a level from 4 to 9.
const fn small(
    compression: &'static str,
    metadata_compression: &'static str,
    block_bits: u8,
    flac: u32,
) -> Level {
    Level {
        compression,
        metadata_compression,
        block_bits,
        order: Order::Similarity,
        special: SpecialCodecs {
            flac: Some(flac),
            incompressible: LONG_REPEATS,
            hot: Some(HOT),
        },
    }
}
