//! What a build did, in numbers.

use sinterfs_model::{Summary, TreeStats};

/// Returns what a build did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// What was packed; sizes as stored.
    pub tree: TreeStats,
    /// Entries that the scan could not read and left out, or left empty (directories).
    pub left_out: u64,
    /// Files of which nothing or only a beginning could be read; stored as far as they were.
    pub unreadable: u64,
    /// Files that changed between the scan and the end of their reading; stored as they were
    /// read, up to the size that the scan found.
    pub changed: u64,
    /// Files whose content is that of another one.
    pub duplicates: u64,
    /// Bytes of those files.
    pub duplicate_bytes: u64,
    /// Bytes of the other files that are in holes.
    pub hole_bytes: u64,
    /// Bytes of the other files that were found in what was already stored.
    pub matched_bytes: u64,
    /// Blocks that were taken over from the image that was built on.
    pub reused_blocks: u64,
    /// Bytes of those blocks before encoding.
    pub reused_bytes: u64,
    /// Bytes of those blocks that are in no file any more.
    pub unused_bytes: u64,
    /// The bytes of memory that the pipeline allowed itself at most.
    pub memory: u64,
    /// What the writer tells of the image.
    pub image: Summary,
}
