//! Checks the metadata once, so that reading never meets an index out of range afterwards.
//!
//! In: the tables as they are stored. Out: `Derived`, what only a look at everything can tell.
//!
//! **Invariant:** after this, every directory is reached from the root in exactly one way, every
//! name is a name, every chunk lies within a block that exists, every file has a size. Nothing is
//! refused that upstream ever wrote. Time: linear in the tables; memory: 4 to 8 bytes per
//! directory, and per file where links have to be counted.

mod contents;
mod entries;
mod inodes;
mod names;

use sinterfs_model::{Error, Result};

use super::metadata::Metadata;

pub(crate) use contents::{FileSizes, STEP};
pub(crate) use inodes::Ranks;

/// What was found out when the metadata was checked.
#[derive(Debug)]
pub(crate) struct Derived {
    /// Which inodes are of which type.
    pub(crate) ranks: Ranks,
    /// The directory that holds each directory; the root holds itself.
    pub(crate) parents: Vec<u32>,
    /// The number of subdirectories of each directory.
    pub(crate) subdirectories: Vec<u32>,
    /// The number of names of each inode that is no directory, counted, if there is an inode with
    /// several and the image does not tell.
    pub(crate) links: Vec<u32>,
    /// Sizes of files.
    pub(crate) sizes: FileSizes,
}

/// Names above which they are checked in a thread of their own.
const MANY: u64 = 100_000;

/// Checks everything. `blocks` is the number of `BLOCK` sections.
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
