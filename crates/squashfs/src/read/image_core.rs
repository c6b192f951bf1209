//! The core of an opened image: superblock, codec and metadata.
//!
//! In: a source and the offset of the image. Out: `ImageCore`, and single inodes.
//!
//! **Invariant:** the superblock is valid and the root is a directory. No table is loaded: opening
//! reads at most two metadata blocks, however large an image claims to be.

use std::sync::Arc;

use sinterfs_block::{ReadAt, Window};
use sinterfs_codec::CodecId;
use sinterfs_model::{Error, FileType, Ino, Result};

use super::inode;
use super::metadata::Metadata;
use super::record::InodeRecord;
use super::superblock::Superblock;
use crate::layout::{Flags, MetaRef};

/// Bytes of tables that a remote source fetches when the image is opened.
const TABLES_AHEAD: u64 = 8 << 20;

/// The parts of an image that all others need.
pub(super) struct ImageCore {
    pub(super) superblock: Superblock,
    pub(super) codec: CodecId,
    pub(super) metadata: Metadata,
}

impl ImageCore {
    /// Reads the superblock and the root's inode; `kept` is the capacity for decoded metadata in
    /// bytes.
    ///
    /// `Invalid` if there is no image, `Unsupported` for unknown versions and compressors,
    /// `Corrupt` if the image is inconsistent.
    pub(super) fn open(source: Arc<dyn ReadAt>, start: u64, kept: u64) -> Result<Self> {
        let whole = Window::from(Arc::clone(&source), start)?;
        let located = |error: Error| error.at("superblock", start);
        let superblock = Superblock::read(&whole).map_err(located)?;
        let codec = superblock.codec().map_err(located)?;
        let window = Window::new(source, start, superblock.bytes_used)?;
        let tables = superblock.inode_table.start..superblock.bytes_used;
        window
            .will_need(&[tables.start..tables.end.min(tables.start.saturating_add(TABLES_AHEAD))]);
        let marker = superblock.major < 4 && superblock.flags.has(Flags::CHECK);
        let metadata = Metadata::new(window, superblock.order, codec, marker, kept);
        let root = record(&metadata, &superblock, Ino(superblock.root))?
            .ok_or_else(|| located(Error::corrupt("the root is past all inodes")))?;
        if root.kind != FileType::Directory {
            return Err(located(Error::corrupt("the root is not a directory")));
        }
        Ok(Self {
            superblock,
            codec,
            metadata,
        })
    }
}

/// Reads an inode; `None` for a reference outside of the inode table.
pub(super) fn record(
    metadata: &Metadata,
    superblock: &Superblock,
    ino: Ino,
) -> Result<Option<InodeRecord>> {
    let reference = MetaRef(ino.0.into());
    let table = superblock.inode_table;
    if reference.block() >= table.end - table.start {
        return Ok(None);
    }
    let mut reader = metadata.read_at(table, reference)?;
    inode::read(&mut reader, superblock.major).map(Some)
}
