//! An opened image: what stays in memory while it is open.
//!
//! **Invariant:** nothing changes after opening but caches, which hold only what the image implies.

use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_model::{Error, ImageInfo, ListingErrors};

use super::checked_tables::CheckedTables;
use super::device::Devices;
use super::found_extents::FoundExtents;
use super::node::ErofsInode;
use super::prefix::Prefix;
use super::superblock::Superblock;
use crate::layout::SUPERBLOCK_OFFSET;

/// An opened EROFS image. Many threads may read it at once.
///
/// Besides caches it keeps the superblock, the device table and the long prefixes of names.
pub struct Erofs {
    pub(super) superblock: Superblock,
    pub(super) offset: u64,
    pub(super) devices: Devices,
    pub(super) prefixes: Vec<Prefix>,
    pub(super) packed: Option<ErofsInode>,
    pub(super) metabox: Option<ErofsInode>,
    pub(super) packed_extents_found: FoundExtents,
    pub(super) checked_tables: CheckedTables,
    pub(super) info: ImageInfo,
    /// Entries that no listing shows.
    pub(super) left_out: ListingErrors,
    /// The version of the composefs format, if it is an image of that.
    pub(super) composefs: Option<u32>,
    pub(super) cache: Arc<BlockCache>,
    pub(super) cache_key: u128,
}

impl Erofs {
    /// Returns the cache of decoded blocks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// Returns the superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Returns what is wrong with the superblock of an image that is read all the same.
    pub fn damage(&self) -> Option<Error> {
        let wrong = self.superblock.wrong_checksum.clone()?;
        let at = self.offset.saturating_add(SUPERBLOCK_OFFSET);
        Some(Error::corrupt(wrong).at("superblock", at))
    }

    /// Returns the offset of the image in its file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the version of the composefs format; `None` for other images.
    pub fn composefs_version(&self) -> Option<u32> {
        self.composefs
    }

    /// Returns the numbers of the devices that were not given, from 1 on.
    pub fn missing_devices(&self) -> Vec<usize> {
        self.devices.missing().collect()
    }

    /// Returns the names, numbers and sizes of the packed inode and the metabox.
    pub fn special_inodes(&self) -> Vec<(&'static str, u64, u64)> {
        let named = [("packed inode", &self.packed), ("metabox", &self.metabox)];
        let there = named.into_iter();
        there
            .filter_map(|(name, node)| node.as_ref().map(|node| (name, node.nid, node.size)))
            .collect()
    }
}

impl std::fmt::Debug for Erofs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Erofs")
            .field("superblock", &self.superblock)
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
