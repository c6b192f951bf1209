//! The options of an archive.

use std::path::PathBuf;

/// Names the kinds of archives and lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveFormat {
    /// tar with PAX records.
    Tar,
    /// cpio, the variant `newc`.
    Cpio,
    /// A list of files with digests.
    Mtree,
}

/// The order of names in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ArchiveOrder {
    /// The order of a walk, unless it needs more than 256 MiB of decoded blocks at a time; then
    /// `Image`.
    #[default]
    Fitting,
    /// The order of a walk.
    Path,
    /// Files in the order of their content in the image.
    Image,
}

/// Which part of an image goes into an archive, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// The kind.
    pub format: ArchiveFormat,
    /// The order of names; lists always use the order of a walk.
    pub order: ArchiveOrder,
    /// Paths to take, with everything below them; with no globs either, everything.
    pub paths: Vec<PathBuf>,
    /// Patterns of whole paths to take, with everything below what they match.
    pub globs: Vec<String>,
    /// Patterns of files to leave out, with everything below them: names at any depth, or whole
    /// paths if they have a slash.
    pub exclude: Vec<String>,
    /// The most components that paths have; `None` means any number.
    pub max_depth: Option<usize>,
    /// Components to take off the front of paths; entries with no more than these are left out.
    pub strip: usize,
    /// The number of threads; 0 means one for each processor.
    pub threads: usize,
    /// Keeps owner and group; without it, both are 0.
    pub owner: bool,
    /// Keeps times; without it, all are 1970.
    pub times: bool,
    /// Keeps extended attributes.
    pub xattrs: bool,
    /// Keeps holes; without it they are zeros.
    pub sparse: bool,
    /// The most bytes of holes that are zeros in the archive; files that would have more are left
    /// out. For lists it is the most that are hashed of a file. `None` means 256 GiB, and 64 GiB
    /// per file of lists.
    pub max_zeros: Option<u64>,
    /// Treats metadata that the kind of archive does not keep as an error.
    pub strict: bool,
    /// Continues after a failure that concerns one entry.
    pub continue_on_error: bool,
    /// The number of decoded bytes that other threads may be ahead.
    pub ahead: u64,
    /// The number of decoded bytes of blocks kept for further use; the image's cache should have
    /// room for these, the blocks ahead and the blocks being decoded.
    pub held: u64,
}

impl ArchiveOptions {
    /// Asks for everything in an archive of a kind.
    pub fn of(format: ArchiveFormat) -> Self {
        Self {
            format,
            order: ArchiveOrder::default(),
            paths: Vec::new(),
            globs: Vec::new(),
            exclude: Vec::new(),
            max_depth: None,
            strip: 0,
            threads: 0,
            owner: true,
            times: true,
            xattrs: true,
            sparse: true,
            max_zeros: None,
            strict: false,
            continue_on_error: true,
            ahead: 256 << 20,
            held: u64::MAX,
        }
    }
}
