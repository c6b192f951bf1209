//! The results of a build, in numbers.

use sinterfs_model::{Summary, TreeStats};

/// The result of a build, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// The packed files, with sizes as stored.
    pub tree: TreeStats,
    /// Entries that the scan could not read and left out, or left empty (directories).
    pub left_out: u64,
    /// Files that could not be read to their end; what was read is stored.
    pub unreadable: u64,
    /// Files that changed between the scan and the end of their reading; stored as they were
    /// read, up to the size that the scan found.
    pub changed: u64,
    /// Files that could not be read once and were read whole later. Their content is right; what
    /// the first attempt was for (order, duplicates) is not what a sound disk gives.
    pub retried: u64,
    /// Files whose content equals another file's.
    pub duplicates: u64,
    /// Bytes of those files.
    pub duplicate_bytes: u64,
    /// Bytes of the other files that are in holes.
    pub hole_bytes: u64,
    /// Bytes of the other files that matched content stored before.
    pub matched_bytes: u64,
    /// Blocks copied from the base image.
    pub reused_blocks: u64,
    /// Bytes of those blocks before encoding.
    pub reused_bytes: u64,
    /// Bytes of those blocks that no file uses any more.
    pub unused_bytes: u64,
    /// The memory limit of the pipeline in bytes.
    pub memory: u64,
    /// The most bytes that the program itself, names and the metadata of the image take in
    /// addition.
    pub metadata_memory: u64,
    /// The writer's summary of the image.
    pub image: Summary,
}
