//! What the rules of `tidy` allow, and where: the floor plan, and exceptions with their reasons.
//!
//! **Invariant:** an exception that is not needed any more is an error, so lists only shrink.

use super::floors::TiedRooms;

/// Which of our crates each may import: the floor plan of ARCHITECTURE.md. Formats and the library
/// are not listed: see [`BELOW_FORMATS`] and [`ABOVE_THE_LIBRARY`].
pub const ARROWS: &[(&str, &[&str])] = &[
    ("sinterfs-workers", &[]),
    ("sinterfs-model", &["sinterfs-workers"]),
    ("sinterfs-platform", &["sinterfs-model"]),
    (
        "sinterfs-codec",
        &["sinterfs-workers", "sinterfs-model", "sinterfs-platform"],
    ),
    (
        "sinterfs-block",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-codec",
        ],
    ),
    (
        "sinterfs-format",
        &["sinterfs-model", "sinterfs-codec", "sinterfs-block"],
    ),
    ("sinterfs-partition", &["sinterfs-model", "sinterfs-block"]),
    // a disc can have both trees
    (
        "sinterfs-udf",
        &[
            "sinterfs-model",
            "sinterfs-block",
            "sinterfs-format",
            "sinterfs-iso9660",
        ],
    ),
    ("sinterfs-archive", &["sinterfs-model"]),
    (
        "sinterfs-source",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-codec",
            "sinterfs-block",
            "sinterfs-archive",
        ],
    ),
    (
        "sinterfs-pipeline",
        &[
            "sinterfs-workers",
            "sinterfs-model",
            "sinterfs-platform",
            "sinterfs-source",
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

/// Which of our crates those of formats may import.
pub const BELOW_FORMATS: &[&str] = &[
    "sinterfs-workers",
    "sinterfs-model",
    "sinterfs-platform",
    "sinterfs-codec",
    "sinterfs-block",
    "sinterfs-format",
];

/// Folders of crates with a document in `docs/formats` that are no formats, with the reason.
pub const NOT_FORMATS: &[(&str, &str)] = &[("parity", "a file beside any other file")];

/// Folders of crates that the library may not import: itself, what is made of it, and tests.
pub const ABOVE_THE_LIBRARY: &[&str] = &["sinterfs", "cli", "capi", "testkit"];

/// Crates that only tests import.
pub const TEST_CRATES: &[&str] = &["sinterfs-testkit"];

/// Files that may allow `unsafe_code`, each with its reason in the file.
pub const UNSAFE_FILES: &[&str] = &[
    "crates/capi/src/lib.rs",
    "crates/cli/src/standard_files.rs",
    "crates/mount/src/namespace.rs",
    "crates/mount/src/own_files.rs",
    "crates/platform/src/inherited.rs",
    "crates/platform/src/large_pieces.rs",
    "crates/platform/src/large_pieces/tests.rs",
    "crates/platform/src/memory.rs",
    "crates/platform/src/windows/nt.rs",
    "crates/sinterfs/src/mount/allocator.rs",
    "python/src/descriptor.rs",
    "python/src/new_bytes.rs",
];

/// Folders of crates whose `lib.rs` need not switch on the lints of [`super::lints`], with the
/// reason.
pub const UNLINTED: &[(&str, &str)] = &[
    ("capi", "passes on what the library returns"),
    ("cli", "passes on what the library returns"),
    (
        "mount",
        "asks images, whose readers have checked what they return",
    ),
    (
        "ops",
        "asks images, whose readers have checked what they return",
    ),
    ("pipeline", "counts and indexes what its own stages made"),
    ("sinterfs", "reads through formats"),
    (
        "source",
        "reads through `archive` and images; indexes trees that it made",
    ),
    ("testkit", "tests may panic"),
    ("workers", "reads nothing"),
];

/// Circles of modules that are still there, by a crate's folder; files are relative to its `src`.
pub const CIRCLES: &[(&str, &[&str])] = &[];

/// Circles of folders that are still there: see [`super::floors`].
pub const TIED_ROOMS: &[TiedRooms] = &[(
    "sinterfs",
    "",
    &[
        "archive_image",
        "composefs",
        "equal_leaves",
        "formats",
        "identify",
        "image",
        "mount",
        "open",
        "ops",
        "reader_options",
        "shared_options",
        "transfer",
        "verify",
        "write",
    ],
)];

/// Type names that more than two crates define, with the reason.
pub const SHARED_NAMES: &[(&str, &str)] = &[
    ("Builder", "the public interface has the word of its users"),
    (
        "Dump",
        "what the function `dump` of each format prints with",
    ),
    (
        "Report",
        "what the one operation of a module returns: a check, a build, a page",
    ),
    (
        "Options",
        "how one thing is done, named with its module: a source, a stream, a build",
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
pub const GROWING: &[&str] = &["model", "format", "ops", "mount", "sinterfs"];

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
    ("Order", "the pipeline has to decide on each"),
    ("ReadCost", "the pipeline has to decide on each"),
    ("Purpose", "a format has to decide on each"),
    ("Bid", "who compares bids has to know all"),
    ("MetadataPlan", "a format has to decide on each"),
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
    ("cli", 38),
    ("dwarfs", 11),
    ("erofs", 1),
    ("pipeline", 3),
    ("squashfs", 1),
];

/// Folders of crates that may name flags of the command line.
pub const NOT_LIBRARIES: &[&str] = &["cli", "testkit"];

/// Names of types that are proper names as well, as words of sentences.
pub const PROPER_NAMES: &[&str] = &["Cromfs", "Windows"];

/// Phrases that comments of shipped code still have, and how often: plain English has others, such
/// as "only" for "alone" and "after" for "behind".
pub const PHRASES: &[(&str, usize)] = &[
    ("those of", 76),
    ("that of", 55),
    ("so many", 12),
    ("of its own", 29),
    ("of their own", 11),
    ("anew", 19),
    ("alone", 43),
    ("behind", 40),
    ("besides", 26),
    ("whatever", 31),
    ("goes on", 9),
    ("for who", 0),
    ("that is none", 0),
    ("is asked for", 12),
    ("was asked for", 4),
];

/// Files of libraries with flags in string literals, with the reason.
pub const FLAG_FILES: &[(&str, &str)] = &[
    ("crates/mount/src/loop_device.rs", "arguments of losetup"),
    (
        "crates/dwarfs/src/format/history.rs",
        "the command line that images record",
    ),
    (
        "crates/format/src/recorded_purpose.rs",
        "the command line that images record",
    ),
    (
        "crates/sinterfs/src/write/history.rs",
        "the command line that images record",
    ),
];
