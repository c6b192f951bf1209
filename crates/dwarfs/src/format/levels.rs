//! The levels of DwarFS for each purpose: fronts of size, build time and bytes decoded by a cold
//! read
//! (docs/adr/0005).
//!
//! Each is smaller or faster than its nearest one of upstream's mkdwarfs, whose own settings can be
//! had by explicit options. Blocks of zstd decode at 500 MB/s or more, blocks of LZMA2 at 100 to
//! 200 MB/s. Metadata is read whole when an image is opened; its codec is about as strong as the
//! codec of blocks. Levels 0 and 1 store it uncompressed.

use sinterfs_format::{Level, Purpose, level::SpecialCodecs};
use sinterfs_model::{Order, ReadCost};

/// Returns the levels for a purpose.
pub(super) fn of(purpose: Purpose) -> &'static [Level; 10] {
    match purpose {
        Purpose::Mount => &MOUNT,
        Purpose::Archive => &ARCHIVE,
        Purpose::Remote => &REMOTE,
    }
}

/// The levels for a mount: those from 8 on are the strongest, whatever reads cost.
const MOUNT: [Level; 10] = [
    fast("none", "none", 24, Order::None, None),
    fast("lz4", "none", 20, Order::Path, Some(0)),
    fast(
        "zstd:level=1:window=24",
        "zstd:level=1",
        24,
        Order::Path,
        Some(2),
    ),
    fast(
        "zstd:level=5:window=24",
        "zstd:level=5",
        24,
        Order::Similarity,
        Some(4),
    ),
    small("zstd:level=9:window=26:long", "zstd:level=9", 26, 6),
    small("zstd:level=15:window=26:long", "zstd:level=9", 26, 7),
    mounted("zstd:optimal=1"),
    mounted("zstd:optimal"),
    strong("lzma2:level=7:binary=auto"),
    strong("lzma2:level=9:binary=auto"),
];

/// The levels for an archive: LZMA2 in large blocks from 6 on.
const ARCHIVE: [Level; 10] = {
    let mut levels = MOUNT;
    levels[6] = small("lzma2:level=2:binary=auto", SMALLEST_METADATA, 26, 8);
    levels[7] = strong("lzma2:level=6:binary=auto");
    levels
};

/// The levels for reads over a network: blocks of 1 MiB, of what decodes fast.
#[expect(clippy::indexing_slicing, reason = "as many as there are")]
const REMOTE: [Level; 10] = {
    let mut levels = MOUNT;
    let mut number = 0;
    while number < levels.len() {
        levels[number].block_bits = 20;
        levels[number].read_cost = ReadCost::Remote;
        number += 1;
    }
    levels
};

/// The compression of content that looks incompressible, from level 4 on: repeats over a long
/// distance are nearly all that is worth looking for. It made debian-desktop 2.6 % smaller.
const INCOMPRESSIBLE_FAST: &str = "zstd:level=3:window=26:long";

/// The same at the strongest levels: what is left in it (debian-desktop 0.3 to 0.7 % smaller) for 3
/// to 4 % of a build's CPU time. LZMA2 leaves more, and decodes it far slower.
const INCOMPRESSIBLE_STRONG: &str = "zstd:optimal=1";

/// The compression of the files needed first, from level 4 on: the smallest that decodes fast.
const HOT: &str = "zstd:level=19";

/// The compression of metadata for fast mounts. libzstd's level 22 makes it larger (132,000 names
/// of /usr/share: 2 %), and needs twenty times the time for extended attributes.
const FAST_METADATA: &str = "zstd:optimal";

/// The compression of metadata for the smallest images: a quarter smaller, and five times slower to
/// decode.
const SMALLEST_METADATA: &str = "lzma2:level=9";

/// Returns a level from 0 to 3.
const fn fast(
    compression: &'static str,
    metadata_compression: &'static str,
    block_bits: u8,
    order: Order,
    flac: Option<u32>,
) -> Level {
    Level {
        compression,
        metadata_compression,
        block_bits,
        order,
        read_cost: ReadCost::Free,
        special: SpecialCodecs {
            flac,
            ..SpecialCodecs::NONE
        },
    }
}

/// Returns a level for the cheapest reads of single files: blocks of 16 MiB, and references into
/// others have a price.
const fn mounted(compression: &'static str) -> Level {
    Level {
        read_cost: ReadCost::Mount,
        ..small(compression, FAST_METADATA, 24, 8)
    }
}

/// Returns a level whose images are as small as time allows: LZMA2 in blocks of 64 MiB.
const fn strong(compression: &'static str) -> Level {
    let mut level = small(compression, SMALLEST_METADATA, 26, 8);
    level.special.incompressible = INCOMPRESSIBLE_STRONG;
    level
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
        read_cost: ReadCost::Free,
        special: SpecialCodecs {
            flac: Some(flac),
            incompressible: INCOMPRESSIBLE_FAST,
            hot: Some(HOT),
        },
    }
}
