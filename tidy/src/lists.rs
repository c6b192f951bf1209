//! What the rules of `tidy` allow, and where: the floor plan, and exceptions with their reasons.
//!
//! **Invariant:** an exception that is not needed any more is an error, so lists only shrink.

/// Which of our crates each may import: the floor plan of ARCHITECTURE.md.
pub const ARROWS: &[(&str, &[&str])] = &[
    ("sinterfs-workers", &[]),
    ("sinterfs-model", &["sinterfs-workers"]),
    ("sinterfs-platform", &["sinterfs-model"]),
    (
        "sinterfs-block",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-platform"],
    ),
    (
        "sinterfs-cloop",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-block"],
    ),
    (
        "sinterfs-cramfs",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-block"],
    ),
    ("sinterfs-cromfs", &["sinterfs-model", "sinterfs-block"]),
    (
        "sinterfs-iso9660",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-block"],
    ),
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
    ("sinterfs-ext", &["sinterfs-model", "sinterfs-block"]),
    ("sinterfs-fat", &["sinterfs-model", "sinterfs-block"]),
    ("sinterfs-partition", &["sinterfs-model", "sinterfs-block"]),
    ("sinterfs-romfs", &["sinterfs-model", "sinterfs-block"]),
    ("sinterfs-udf", &["sinterfs-model", "sinterfs-block"]),
    (
        "sinterfs-wim",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-block",
        ],
    ),
    ("sinterfs-archive", &["sinterfs-model"]),
    (
        "sinterfs-pipeline",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-block",
            "sinterfs-archive",
        ],
    ),
    (
        "sinterfs-ops",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-archive",
        ],
    ),
    (
        "sinterfs-parity",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-block",
        ],
    ),
    ("sinterfs-mount", &["sinterfs-model", "sinterfs-platform"]),
    (
        "sinterfs-remote",
        &["sinterfs-model", "sinterfs-platform", "sinterfs-block"],
    ),
    (
        "sinterfs",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-block",
            "sinterfs-archive",
            "sinterfs-cloop",
            "sinterfs-cramfs",
            "sinterfs-cromfs",
            "sinterfs-dwarfs",
            "sinterfs-squashfs",
            "sinterfs-erofs",
            "sinterfs-ext",
            "sinterfs-fat",
            "sinterfs-iso9660",
            "sinterfs-partition",
            "sinterfs-romfs",
            "sinterfs-udf",
            "sinterfs-wim",
            "sinterfs-pipeline",
            "sinterfs-ops",
            "sinterfs-parity",
            "sinterfs-mount",
            "sinterfs-remote",
        ],
    ),
    ("sinterfs-cli", &["sinterfs"]),
    ("sinterfs-capi", &["sinterfs", "sinterfs-platform"]),
    ("sinterfs-python", &["sinterfs", "sinterfs-platform"]),
    ("xtask", &["sinterfs-tidy"]),
    ("sinterfs-dist", &["xtask"]),
    ("sinterfs-tidy", &[]),
    // runs the built program, links none of it
    ("sinterfs-bench", &[]),
    // tests only: an in-memory image and tree comparison
    ("sinterfs-testkit", &["sinterfs-model"]),
];

/// The crates of formats, as code names them.
pub const FORMATS: &[&str] = &[
    "sinterfs_cloop",
    "sinterfs_cramfs",
    "sinterfs_cromfs",
    "sinterfs_dwarfs",
    "sinterfs_erofs",
    "sinterfs_ext",
    "sinterfs_fat",
    "sinterfs_iso9660",
    "sinterfs_romfs",
    "sinterfs_squashfs",
    "sinterfs_udf",
    "sinterfs_wim",
];

/// Crates that only tests import.
pub const TEST_CRATES: &[&str] = &["sinterfs-testkit"];

/// Files that may allow `unsafe_code`, each with its reason in the file.
pub const UNSAFE_FILES: &[&str] = &[
    "crates/capi/src/lib.rs",
    "crates/cli/src/standard_files.rs",
    "crates/mount/src/namespace.rs",
    "crates/platform/src/inherited.rs",
    "crates/platform/src/large_pieces.rs",
    "crates/platform/src/large_pieces/tests.rs",
    "crates/platform/src/memory.rs",
    "crates/platform/src/windows/nt.rs",
    "crates/sinterfs/src/mount/allocator.rs",
    "python/src/descriptor.rs",
    "python/src/new_bytes.rs",
];

/// Crates whose `lib.rs` switches on the lints of [`super::lints`].
pub const LINTED: &[&str] = &[
    "model",
    "platform",
    "block",
    "archive",
    "dwarfs",
    "squashfs",
    "erofs",
    "cramfs",
    "cromfs",
    "ext",
    "fat",
    "romfs",
    "udf",
    "cloop",
    "wim",
    "parity",
    "partition",
    "iso9660",
    "remote",
];

/// Circles of modules that are still there, by a crate's folder; files are relative to its `src`.
pub const CIRCLES: &[(&str, &[&str])] = &[];

/// Type names that more than two crates define, with the reason.
pub const SHARED_NAMES: &[(&str, &str)] = &[
    ("Builder", "the public interface has the word of its users"),
    (
        "Dump",
        "what the function `dump` of each format prints with",
    ),
    (
        "OpenOptions",
        "how a reader is opened, in each format and in the public interface",
    ),
    (
        "Report",
        "what the one operation of a module returns: a check, a build, a page",
    ),
    ("WriteOptions", "how an image is written, in each format"),
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
    (
        "Session",
        "sinterfs: that of sinterfs-mount with its logs; sinterfs-remote: of a registry",
    ),
];

/// Folders of crates whose public enums and reports are `#[non_exhaustive]` (docs/adr/0027).
pub const GROWING: &[&str] = &["model", "ops", "mount", "sinterfs"];

/// Enums that programs may match in full, with the reason.
pub const CLOSED_TYPES: &[(&str, &str)] = &[
    ("FileType", "the types of files of POSIX"),
    (
        "InfoValue",
        "values of documents: who prints them has to know all",
    ),
    ("ModeBits", "all comparisons of two sets"),
    ("Follow", "all answers to one question"),
    (
        "Visit",
        "entered, left, unreadable: there is no fourth event",
    ),
    ("WalkStep", "all answers to one question"),
    ("What", "who prints differences has to know all"),
    ("UsageKind", "who draws a tree of sizes has to know all"),
    ("Upload", "has no value: stands for what is not built in"),
    ("Content", "a writer of a format has to decide on each"),
    ("MapExtent", "a writer of a format has to decide on each"),
    ("Preceded", "a writer of a format has to decide on each"),
    ("ExtentSource", "what reads extents has to decide on each"),
    ("TailSharing", "the pipeline has to decide on each"),
    ("TailPlacement", "the pipeline has to decide on each"),
    ("ByteOrder", "there are two"),
    ("Padding", "an encoder has to decide on each"),
];

/// Lines of more than 100 columns that a crate still has.
pub const LONG_LINES: &[(&str, usize)] = &[
    ("archive", 4),
    ("bench", 1),
    ("block", 1),
    ("cli", 38),
    ("dwarfs", 11),
    ("erofs", 1),
    ("pipeline", 3),
    ("squashfs", 1),
];

/// Folders of crates that no flag of the command line is named in.
pub const LIBRARIES: &[&str] = &[
    "model",
    "platform",
    "block",
    "archive",
    "capi",
    "cloop",
    "cramfs",
    "cromfs",
    "dwarfs",
    "squashfs",
    "erofs",
    "ext",
    "fat",
    "romfs",
    "udf",
    "wim",
    "parity",
    "partition",
    "pipeline",
    "ops",
    "mount",
    "remote",
    "sinterfs",
    "iso9660",
    "workers",
];

/// Files of libraries with flags in string literals, with the reason.
pub const FLAG_FILES: &[(&str, &str)] = &[
    ("crates/mount/src/loop_device.rs", "arguments of losetup"),
    (
        "crates/sinterfs/src/recorded_purpose.rs",
        "the command line that images record",
    ),
    (
        "crates/sinterfs/src/write/history.rs",
        "the command line that images record",
    ),
];
