//! What `--level` means for each format: codec, block size and order. There are as many levels as
//! upstream's mkdwarfs has; those of DwarFS are each smaller and faster than its nearest there; what its
//! levels mean can be had by the explicit options.

use crate::Order;

/// The settings of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The compression of blocks, in the format's words.
    pub compression: &'static str,
    /// The compression of metadata, where that can be another than that of blocks.
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

/// The levels of FLAC for audio; without one, audio and images are encoded as all content is.
const FLAC: [Option<u32>; 10] = [
    None,
    Some(0),
    Some(2),
    Some(4),
    Some(6),
    Some(7),
    Some(8),
    Some(8),
    Some(8),
    Some(8),
];

/// Returns the level of FLAC that belongs to a level from 0 to 9; higher numbers mean 9.
pub fn flac(level: u8) -> Option<u32> {
    FLAC[usize::from(level).min(FLAC.len() - 1)]
}

/// The compression of what looks incompressible, from level 4 on: repeats over a long way are all that is
/// worth looking for. It made debian-desktop 2.6 % smaller; LZMA2 gains 0.1 % more and decodes it far slower.
const LONG_REPEATS: &str = "zstd:level=3:window=26:long";

/// Returns the compression of what looks incompressible at a level.
pub fn incompressible(level: u8) -> &'static str {
    if level < 4 { "none" } else { LONG_REPEATS }
}

/// The compression of what is needed first, from level 4 on: as small as what decodes fast gets.
const HOT: &str = "zstd:level=19";

/// Returns the compression of what is needed first at a level, unless it is the level's own.
pub fn hot(level: u8) -> Option<&'static str> {
    (level >= 4).then_some(HOT)
}

/// The level that is used unless another is asked for.
pub const DEFAULT: u8 = 7;

/// The levels of DwarFS: a front of size, build time and what a cold read decodes (docs/adr/0005).
///
/// Up to 5 a block decodes at 500 MB/s or more and metadata is not encoded; from 6 on blocks are
/// LZMA2, the smallest there is for its build time, at 100 to 200 MB/s.
pub const DWARFS: [Level; 10] = [
    level("none", "none", 24, Order::None),
    level("lz4", "none", 20, Order::Path),
    level("zstd:level=1:window=24", "none", 24, Order::Path),
    level("zstd:level=5:window=24", "none", 24, Order::Similarity),
    level("zstd:level=9:window=26:long", "none", 26, Order::Similarity),
    level(
        "zstd:level=15:window=26:long",
        "none",
        26,
        Order::Similarity,
    ),
    level(
        "lzma2:level=2:binary=auto",
        "zstd:level=22",
        24,
        Order::Similarity,
    ),
    level(
        "lzma2:level=6:binary=auto",
        "zstd:level=22",
        26,
        Order::Similarity,
    ),
    level(
        "lzma2:level=7:binary=auto",
        "lzma:level=9",
        26,
        Order::Similarity,
    ),
    level(
        "lzma2:level=9:binary=auto",
        "lzma:level=9",
        26,
        Order::Similarity,
    ),
];

/// The levels of SquashFS (docs/formats/squashfs.md, "Levels"); 0 compresses nothing.
pub const SQUASHFS: [Level; 10] = [
    per_file("zstd:level=1", 17, Order::None),
    per_file("lz4", 17, Order::Path),
    per_file("zstd:level=1", 17, Order::Path),
    per_file("zstd:level=3", 17, Order::Similarity),
    per_file("zstd:level=6", 17, Order::Similarity),
    per_file("zstd:level=9", 18, Order::Similarity),
    per_file("zstd:level=9", 20, Order::Similarity),
    per_file("zstd:level=17", 20, Order::Similarity),
    per_file("zstd:level=19", 20, Order::Similarity),
    per_file("xz:bcj=x86", 20, Order::Similarity),
];

/// The levels of EROFS for Linux 6.15 and newer, with extents; 0 compresses nothing.
const EROFS_6_15: [Level; 10] = [
    per_file("none", 17, Order::Path),
    per_file("lz4", 17, Order::Path),
    per_file("zstd:level=1", 17, Order::Path),
    per_file("zstd:level=3", 17, Order::Similarity),
    per_file("zstd:level=6", 17, Order::Similarity),
    per_file("zstd:level=9", 17, Order::Similarity),
    per_file("zstd:level=12", 17, Order::Similarity),
    per_file("zstd:level=15", 18, Order::Similarity),
    per_file("zstd:level=19", 20, Order::Similarity),
    per_file("zstd:level=22", 20, Order::Similarity),
];

/// The levels for Linux 6.10 and newer, with clusters as for all that are older.
const EROFS_6_10: [Level; 10] = [
    per_file("none", 17, Order::Path),
    per_file("lz4", 16, Order::Path),
    per_file("zstd:level=1", 16, Order::Path),
    per_file("zstd:level=3", 16, Order::Similarity),
    per_file("zstd:level=6", 16, Order::Similarity),
    per_file("zstd:level=9", 16, Order::Similarity),
    per_file("zstd:level=12", 16, Order::Similarity),
    per_file("zstd:level=15", 17, Order::Similarity),
    per_file("zstd:level=19", 18, Order::Similarity),
    per_file("zstd:level=22", 20, Order::Similarity),
];

/// The levels for Linux 6.6 and newer.
const EROFS_6_6: [Level; 10] = [
    per_file("none", 17, Order::Path),
    per_file("lz4", 16, Order::Path),
    per_file("lz4hc:level=6", 16, Order::Path),
    per_file("deflate:level=1", 16, Order::Similarity),
    per_file("deflate:level=3", 16, Order::Similarity),
    per_file("deflate:level=6", 16, Order::Similarity),
    per_file("deflate:level=9", 16, Order::Similarity),
    per_file("deflate:level=9", 17, Order::Similarity),
    per_file("deflate:level=12", 17, Order::Similarity),
    per_file("lzma:level=9", 18, Order::Similarity),
];

/// The levels for Linux 6.1 and newer.
const EROFS_6_1: [Level; 10] = [
    per_file("none", 17, Order::Path),
    per_file("lz4", 16, Order::Path),
    per_file("lz4hc:level=4", 16, Order::Path),
    per_file("lz4hc:level=4", 16, Order::Similarity),
    per_file("lz4hc:level=6", 16, Order::Similarity),
    per_file("lz4hc:level=9", 16, Order::Similarity),
    per_file("lz4hc:level=9", 17, Order::Similarity),
    per_file("lz4hc:level=12", 17, Order::Similarity),
    per_file("lzma:level=6", 16, Order::Similarity),
    per_file("lzma:level=9", 18, Order::Similarity),
];

/// The levels for Linux 5.15 and newer.
const EROFS_5_15: [Level; 10] = lz4_only(16, 17, 20);

/// The levels for older ones.
const EROFS_OLD: [Level; 10] = lz4_only(12, 12, 12);

/// The levels of EROFS, and the versions of Linux that they are for, with newer ones.
pub const EROFS: [((u16, u16), [Level; 10]); 6] = [
    ((6, 15), EROFS_6_15),
    ((6, 10), EROFS_6_10),
    ((6, 6), EROFS_6_6),
    ((6, 1), EROFS_6_1),
    ((5, 15), EROFS_5_15),
    ((0, 0), EROFS_OLD),
];

/// Lists levels of LZ4 alone, in clusters of so many bytes as powers of two: up to 6, at 7 and 8, at 9.
const fn lz4_only(bits: u8, strong: u8, strongest: u8) -> [Level; 10] {
    [
        per_file("none", 17, Order::Path),
        per_file("lz4", bits, Order::Path),
        per_file("lz4hc:level=3", bits, Order::Path),
        per_file("lz4hc:level=4", bits, Order::Path),
        per_file("lz4hc:level=6", bits, Order::Path),
        per_file("lz4hc:level=8", bits, Order::Path),
        per_file("lz4hc:level=9", bits, Order::Path),
        per_file("lz4hc:level=9", strong, Order::Path),
        per_file("lz4hc:level=12", strong, Order::Path),
        per_file("lz4hc:level=12", strongest, Order::Path),
    ]
}

const fn per_file(compression: &'static str, block_bits: u8, order: Order) -> Level {
    level(compression, "none", block_bits, order)
}

/// Finds a level among those of a format; higher numbers mean the last.
pub fn of(levels: &'static [Level; 10], level: u8) -> &'static Level {
    &levels[usize::from(level).min(levels.len() - 1)]
}
