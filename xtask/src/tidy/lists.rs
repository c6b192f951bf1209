//! What the rules of `tidy` allow, and where: the floor plan, and exceptions with their reasons.
//!
//! **Invariant:** an exception that is not needed any more is an error, so lists only shrink.

/// Which of our crates each may import: the floor plan of ARCHITECTURE.md.
pub const ARROWS: &[(&str, &[&str])] = &[
    ("sinterfs-workers", &[]),
    ("sinterfs-model", &["sinterfs-workers"]),
    ("sinterfs-block", &["sinterfs-workers", "sinterfs-model"]),
    (
        "sinterfs-dwarfs",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-block"],
    ),
    (
        "sinterfs-squashfs",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-block"],
    ),
    (
        "sinterfs-erofs",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-block"],
    ),
    ("sinterfs-archive", &["sinterfs-model"]),
    (
        "sinterfs-pipeline",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-block",
            "sinterfs-archive",
        ],
    ),
    (
        "sinterfs-ops",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-archive"],
    ),
    ("sinterfs-mount", &["sinterfs-model"]),
    (
        "sinterfs",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-block",
            "sinterfs-archive",
            "sinterfs-dwarfs",
            "sinterfs-squashfs",
            "sinterfs-erofs",
            "sinterfs-pipeline",
            "sinterfs-ops",
            "sinterfs-mount",
        ],
    ),
    ("sinterfs-cli", &["sinterfs"]),
    ("xtask", &[]),
    // runs the built program, links none of it
    ("sinterfs-bench", &[]),
    // tests only: an in-memory image and tree comparison
    ("sinterfs-testkit", &["sinterfs-model"]),
];

/// Crates that only tests import.
pub const TEST_CRATES: &[&str] = &["sinterfs-testkit"];

/// Files that may allow `unsafe_code`, each with its reason in the file.
pub const UNSAFE_FILES: &[&str] = &["crates/sinterfs/src/mount/allocator.rs"];

/// Crates whose `lib.rs` switches on the lints of [`super::lints`].
pub const LINTED: &[&str] = &[];

/// Circles of modules that are still there, by a crate's folder; files are relative to its `src`.
pub const CIRCLES: &[(&str, &[&str])] = &[
    ("archive", &["mtree/read/words.rs", "mtree/read.rs"]),
    (
        "block",
        &[
            "codec/lzma2/bcj/arm.rs",
            "codec/lzma2/bcj/big_endian.rs",
            "codec/lzma2/bcj/ia64.rs",
            "codec/lzma2/bcj/mod.rs",
        ],
    ),
    ("erofs", &["composefs/plan.rs", "composefs/write.rs"]),
    (
        "erofs",
        &[
            "lookalike/content.rs",
            "lookalike/inodes.rs",
            "lookalike/pool.rs",
            "lookalike/scan.rs",
            "lookalike/space.rs",
            "lookalike.rs",
        ],
    ),
    (
        "erofs",
        &[
            "read/inode.rs",
            "read/map/chunks.rs",
            "read/map/clusters.rs",
            "read/map/extents.rs",
            "read/map/flat.rs",
            "read/map/found.rs",
            "read/map/header.rs",
            "read/map/indexes.rs",
            "read/map/window.rs",
            "read/map.rs",
            "read/metadata.rs",
            "read/xattr.rs",
            "read.rs",
        ],
    ),
    (
        "mount",
        &[
            "attach.rs",
            "detach.rs",
            "fuse.rs",
            "hidden.rs",
            "kernel.rs",
            "session.rs",
        ],
    ),
    (
        "ops",
        &[
            "archive/list.rs",
            "archive/mod.rs",
            "archive/names.rs",
            "archive/write.rs",
        ],
    ),
    (
        "ops",
        &[
            "diff/content.rs",
            "diff/fields.rs",
            "diff/renames.rs",
            "diff.rs",
        ],
    ),
    (
        "ops",
        &[
            "extract/content.rs",
            "extract/metadata.rs",
            "extract/mod.rs",
            "extract/report.rs",
            "extract/target.rs",
        ],
    ),
    ("ops", &["usage/blocks.rs", "usage.rs"]),
    (
        "pipeline",
        &[
            "classify/audio/aiff.rs",
            "classify/audio/au.rs",
            "classify/audio/caf.rs",
            "classify/audio/wav.rs",
            "classify/audio.rs",
        ],
    ),
    (
        "pipeline",
        &["segment/per_file.rs", "segment/solid.rs", "segment.rs"],
    ),
    (
        "pipeline",
        &["source/archive/unpack.rs", "source/archive.rs"],
    ),
    (
        "pipeline",
        &["source/directory/scan.rs", "source/directory.rs"],
    ),
    ("pipeline", &["source/edits/pseudo.rs", "source/edits.rs"]),
    (
        "pipeline",
        &["source/manifest/root.rs", "source/manifest.rs"],
    ),
    (
        "pipeline",
        &[
            "source/merge/union.rs",
            "source/merge/whiteouts.rs",
            "source/merge.rs",
        ],
    ),
    (
        "squashfs",
        &[
            "read/base.rs",
            "read/content.rs",
            "read/directory.rs",
            "read/inode.rs",
            "read/legacy.rs",
            "read/parents.rs",
            "read.rs",
        ],
    ),
    ("squashfs", &["write/directories.rs", "write/inodes.rs"]),
];

/// Type names that more than two crates define, with the reason.
pub const SHARED_NAMES: &[(&str, &str)] = &[
    ("Block", "not renamed yet"),
    ("Blocks", "not renamed yet"),
    ("Body", "not renamed yet"),
    ("Builder", "the public interface has the word of its users"),
    ("Compression", "not renamed yet"),
    ("Content", "not renamed yet"),
    ("Counts", "not renamed yet"),
    ("Dump", "not renamed yet"),
    ("Entry", "not renamed yet"),
    ("Fields", "not renamed yet"),
    ("File", "not renamed yet"),
    ("Found", "not renamed yet"),
    ("Header", "not renamed yet"),
    ("Image", "not renamed yet"),
    ("Index", "not renamed yet"),
    ("Inodes", "not renamed yet"),
    ("Input", "not renamed yet"),
    ("Kept", "not renamed yet"),
    ("Kind", "not renamed yet"),
    ("Layout", "not renamed yet"),
    ("Link", "not renamed yet"),
    ("Listing", "not renamed yet"),
    ("Mounted", "not renamed yet"),
    ("Node", "not renamed yet"),
    ("Offset", "not renamed yet"),
    ("OpenOptions", "not renamed yet"),
    ("Options", "not renamed yet"),
    ("Order", "not renamed yet"),
    ("Parts", "not renamed yet"),
    ("Place", "not renamed yet"),
    ("Reader", "not renamed yet"),
    ("Record", "not renamed yet"),
    ("Report", "not renamed yet"),
    ("Row", "not renamed yet"),
    ("Rule", "not renamed yet"),
    ("Run", "not renamed yet"),
    ("Scratch", "not renamed yet"),
    ("Shared", "not renamed yet"),
    ("State", "not renamed yet"),
    ("Step", "not renamed yet"),
    ("Stream", "not renamed yet"),
    ("Target", "not renamed yet"),
    ("Tree", "not renamed yet"),
    ("Walk", "not renamed yet"),
    ("What", "not renamed yet"),
    ("WriteOptions", "not renamed yet"),
    ("Writer", "not renamed yet"),
    ("Written", "not renamed yet"),
];

/// Lines of more than 100 columns that a crate still has.
pub const LONG_LINES: &[(&str, usize)] = &[
    ("archive", 4),
    ("bench", 1),
    ("block", 52),
    ("cli", 189),
    ("dwarfs", 12),
    ("erofs", 6),
    ("model", 12),
    ("mount", 23),
    ("ops", 76),
    ("pipeline", 110),
    ("sinterfs", 81),
    ("squashfs", 70),
    ("testkit", 5),
    ("workers", 9),
];

/// Folders of crates with comments that begin with verbs which are not used.
pub const VERBS_PENDING: &[&str] = &[
    "block", "cli", "erofs", "model", "mount", "ops", "pipeline", "sinterfs", "squashfs",
];

/// Folders of crates that no flag of the command line is named in.
pub const LIBRARIES: &[&str] = &[
    "model", "block", "archive", "dwarfs", "squashfs", "erofs", "pipeline", "ops", "mount",
    "sinterfs",
];

/// Files of libraries with flags in string literals, with the reason.
pub const FLAG_FILES: &[(&str, &str)] = &[
    ("crates/mount/src/kernel.rs", "an argument of losetup"),
    ("crates/mount/src/loop_device.rs", "arguments of losetup"),
    (
        "crates/erofs/src/read/image.rs",
        "not named by its meaning yet",
    ),
    ("crates/mount/src/kernel.rs", "arguments of losetup"),
    ("crates/mount/src/layers.rs", "arguments of losetup"),
    (
        "crates/pipeline/src/scratch.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/pipeline/src/source/directory/single_file.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/pipeline/src/source/edits/pseudo.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/pipeline/src/source/manifest/root.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/pipeline/src/source/merge.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/registry.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/registry/composefs/build.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/registry/composefs/dump.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/asked.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/build.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/filters.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/input/docker_archive.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/input/oci.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/input/open.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/input/stack.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/output.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/recompress.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/report.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/sinterfs/src/write/resolve.rs",
        "not named by its meaning yet",
    ),
    (
        "crates/squashfs/src/write/compression.rs",
        "not named by its meaning yet",
    ),
];
