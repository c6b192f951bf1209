//! Checkpoints in the lists of block sizes of files with many blocks.
//!
//! Format: `docs/formats/squashfs.md`, "Content".

use super::metadata::MetaPosition;

/// The position of a block of a file, in its list of sizes and in the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checkpoint {
    pub(super) words: MetaPosition,
    pub(super) position: u64,
}

/// The checkpoints of one file.
#[derive(Debug)]
pub(crate) struct Checkpoints(pub(super) Vec<Checkpoint>);

impl Checkpoints {
    /// Returns the approximate memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        (self.0.len() * size_of::<Checkpoint>() + 64) as u64
    }
}
