//! Validates the metadata once, so that reading never meets an index out of range.
//!
//! In: the tables as stored. Out: `Derived`, computed from all of them.
//!
//! **Invariant:** afterwards every directory is reached from the root by exactly one path, every
//! name is valid, every chunk is within an existing block, every file has a size. All images that
//! upstream wrote are accepted. Time: linear in the tables; memory: 4 to 8 bytes per directory, and
//! per file if links have to be counted.

mod contents;
mod entries;
mod inodes;
mod names;

use sinterfs_model::{Error, Result};

use super::metadata::Metadata;

pub(crate) use contents::{CHUNKS_PER_OFFSET, FileSizes};
pub(crate) use inodes::Ranks;

/// Values computed while the metadata was validated.
#[derive(Debug)]
pub(crate) struct Derived {
    /// The ranges of inodes by type.
    pub(crate) ranks: Ranks,
    /// The parent of each directory; the root is its own.
    pub(crate) parents: Vec<u32>,
    /// The number of subdirectories of each directory.
    pub(crate) subdirectories: Vec<u32>,
    /// The counted links of each inode that is not a directory; empty if the image stores them, or
    /// if no inode has several.
    pub(crate) links: Vec<u32>,
    /// The sizes of files.
    pub(crate) sizes: FileSizes,
}

/// The number of names above which they are validated on a separate thread.
const MANY: u64 = 100_000;

/// Validates all tables; `blocks` is the number of `BLOCK` sections.
pub(crate) fn validate(metadata: &Metadata, blocks: u64) -> Result<Derived> {
    check(metadata, blocks).map_err(|error: Error| error.within("METADATA_V2"))
}

fn check(metadata: &Metadata, blocks: u64) -> Result<Derived> {
    let ranks = inodes::check(metadata)?;
    let entries::Directories {
        parents,
        subdirectories,
        links,
    } = entries::check(metadata, &ranks)?;
    let (names, sizes) = sinterfs_workers::join(
        if metadata.names.len() > MANY { 2 } else { 1 },
        "names",
        || names::check(metadata),
        || contents::check(metadata, &ranks, blocks),
    );
    names?;
    let sizes = sizes?;
    Ok(Derived {
        ranks,
        parents,
        subdirectories,
        links,
        sizes,
    })
}
