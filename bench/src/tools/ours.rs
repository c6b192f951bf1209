//! What is measured of ours: `sinter` with its levels, and the SquashFS images that it writes.

use super::tool::{Tool, level, variant};

/// The tool that results are compared with.
pub const SINTER: &str = "sinter";

/// The writer of our SquashFS images; `SINTER` reads them.
pub const SINTER_SQUASHFS: &str = "sinter-squashfs";

/// The default level of `sinter build`.
pub const DEFAULT_LEVEL: &str = "7";

/// The profile of small images that are seldom read; also what its variant is called.
pub const ARCHIVE: &str = "--for archive";

/// The level of the smallest images.
pub const STRONGEST_LEVEL: &str = "9";

/// Ours, `SINTER` first.
pub const OURS: &[Tool] = &[
    Tool {
        name: SINTER,
        format: "dwarfs",
        build: "sinter build --quiet --force [-j {jobs}] {args} {dir} -o {image}",
        extract: "sinter extract --quiet [-j {jobs}] {image} -o {out}",
        mount: "sinter mount --foreground [-j {jobs}] {image} {mountpoint}",
        version: "sinter --version",
        variants: &[
            level(0, "0", "-l0"),
            level(1, "1", "-l1"),
            level(2, "2", "-l2"),
            level(3, "3", "-l3"),
            level(4, "4", "-l4"),
            level(5, "5", "-l5"),
            level(6, "6", "-l6"),
            level(7, "7", "-l7"),
            level(7, ARCHIVE, ARCHIVE),
            level(8, "8", "-l8"),
            level(9, "9", "-l9"),
        ],
    },
    Tool {
        name: SINTER_SQUASHFS,
        format: "squashfs",
        build: "sinter build -f squashfs --quiet --force [-j {jobs}] {args} {dir} -o {image}",
        extract: "",
        mount: "",
        version: "sinter --version",
        variants: &[
            variant("zstd", "-C zstd:level=15 -b 128k"),
            variant("xz", "-C xz -b 1m"),
        ],
    },
];
