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
    ("Header", "not renamed yet"),
    ("Image", "not renamed yet"),
    ("Index", "not renamed yet"),
    ("Inodes", "not renamed yet"),
    ("Input", "not renamed yet"),
    ("Kept", "not renamed yet"),
    ("Layout", "not renamed yet"),
    ("Link", "not renamed yet"),
    ("Listing", "not renamed yet"),
    ("Mounted", "not renamed yet"),
    ("Node", "not renamed yet"),
    ("Offset", "not renamed yet"),
    ("OpenOptions", "not renamed yet"),
    ("Options", "not renamed yet"),
    ("Order", "not renamed yet"),
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
    ("WriteOptions", "not renamed yet"),
    (
        "Directory",
        "the public interface has the word of its users",
    ),
    ("Entries", "the public interface has the word of its users"),
    ("Metadata", "the public interface has the word of its users"),
    (
        "ContentLocation",
        "where the content of a file is, in three formats' terms",
    ),
];

/// Lines of more than 100 columns that a crate still has.
pub const LONG_LINES: &[(&str, usize)] = &[
    ("archive", 4),
    ("bench", 1),
    ("block", 100),
    ("cli", 187),
    ("dwarfs", 33),
    ("erofs", 184),
    ("pipeline", 107),
    ("sinterfs", 99),
    ("squashfs", 70),
];

/// Folders of crates with comments that begin with verbs which are not used.
pub const VERBS_PENDING: &[&str] = &["block", "cli", "pipeline", "sinterfs"];

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
        "crates/sinterfs/src/write/history.rs",
        "the command line that images record",
    ),
];
