//! The levels of EROFS, which depend on the oldest version of Linux that mounts the image.

use sinterfs_format::{
    Level,
    level::{self, per_file},
};
use sinterfs_model::{Order, Result};

/// Returns a level for a version of Linux and newer ones.
pub(super) fn level(kernel: (u16, u16), level: u8) -> Result<&'static Level> {
    let [rows @ .., (_, oldest)] = &LEVELS;
    let row = rows.iter().find(|(first, _)| kernel >= *first);
    level::at(row.map_or(oldest, |(_, levels)| levels), level)
}

/// The levels of EROFS for Linux 6.15 and newer, with extents; 0 compresses nothing.
const LINUX_6_15: [Level; 10] = [
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
const LINUX_6_10: [Level; 10] = [
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
const LINUX_6_6: [Level; 10] = [
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
const LINUX_6_1: [Level; 10] = [
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
const LINUX_5_15: [Level; 10] = lz4_only(16, 17, 20);

/// The levels for older ones.
const LINUX_OLDER: [Level; 10] = lz4_only(12, 12, 12);

/// The levels, and the versions of Linux that they are for, with newer ones.
const LEVELS: [((u16, u16), [Level; 10]); 6] = [
    ((6, 15), LINUX_6_15),
    ((6, 10), LINUX_6_10),
    ((6, 6), LINUX_6_6),
    ((6, 1), LINUX_6_1),
    ((5, 15), LINUX_5_15),
    ((0, 0), LINUX_OLDER),
];

/// Lists levels of LZ4 alone, by log2 of the pcluster size: up to 6, at 7 and 8, at 9.
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
