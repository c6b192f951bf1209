//! Opens an image: reads the superblock, the tables and all inodes.
//!
//! In: a source of bytes. Out: `Cromfs`.
//!
//! **Invariant:** memory besides the cache of fblocks is within `MemoryBudget`.

use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FileType, FsInfo, ImageInfo, Ino, Result};

use super::budget::MemoryBudget;
use super::content::CromfsContent;
use super::fblocks::{FblockReader, stored_between};
use super::inodes::CromfsInodes;
use super::lzma;
use crate::layout::{Features, InodeFields, MAGIC, SUPERBLOCK_LEN, SuperblockFields, Version};

/// An opened Cromfs image. Many threads may read it at once.
///
/// Memory: the cache of fblocks, the table of blocks, and about 200 bytes for each inode.
pub struct Cromfs {
    pub(crate) head: SuperblockFields,
    pub(crate) content: CromfsContent,
    pub(crate) inodes: CromfsInodes,
    pub(super) info: ImageInfo,
}

impl std::fmt::Debug for Cromfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Cromfs");
        shown.field("head", &self.head).finish_non_exhaustive()
    }
}

impl Cromfs {
    /// Opens an image.
    ///
    /// `Invalid` if there is no image, `Unsupported` for unknown versions and flags, `Corrupt` if
    /// it is inconsistent, `Limit` if it exceeds `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let window = Window::from(source, options.start_offset())?;
        let head =
            superblock(&window).map_err(|error| error.at("superblock", options.start_offset()))?;
        let mut budget = MemoryBudget::new(&options.limits, window.len());
        let located =
            |error: Error, at: u64| error.at("inode", options.start_offset().saturating_add(at));
        let inotab = single_inode(&window, &head, head.inotab_at, &mut budget)
            .map_err(|error| located(error, head.inotab_at))?;
        let features = features(&head, &inotab).map_err(|e| located(e, head.inotab_at))?;
        let root = single_inode(&window, &head, head.root_at, &mut budget)
            .map_err(|error| located(error, head.root_at))?;
        let cache = options.cache.clone().unwrap_or_else(|| {
            let typical = u64::from(head.fblock_size);
            Arc::new(BlockCache::new(options.cache_bytes, typical))
        });
        let limits = &options.limits;
        let fblocks = FblockReader::read(window, &head, features, limits, cache, &mut budget)?;
        let content = CromfsContent {
            fblocks,
            features,
            block_size: head.block_size,
        };
        let table = inode_table(&content, &inotab, &mut budget)
            .map_err(|error| located(error, head.inotab_at))?;
        let inodes = CromfsInodes::read(&content, root, table, &mut budget)?;
        Ok(Self {
            info: image_info(&head, &content, &inodes),
            head,
            content,
            inodes,
        })
    }

    /// Returns the superblock.
    pub fn head(&self) -> &SuperblockFields {
        &self.head
    }

    /// Returns the flags of the image.
    pub fn features(&self) -> Features {
        self.content.features
    }

    /// Returns the number of fblocks.
    pub fn fblocks(&self) -> u64 {
        self.content.fblocks.places.len() as u64
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> u64 {
        self.content.fblocks.blocks()
    }

    /// Returns the stored length of an fblock in bytes; `None` if there is none of that number.
    pub fn fblock_stored(&self, number: u64) -> Option<u64> {
        let number = usize::try_from(number).ok()?;
        let place = self.content.fblocks.places.get(number)?;
        Some(place.stored.into())
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.content.fblocks.window.start()
    }

    /// Returns the cache of decoded fblocks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.content.fblocks.cache
    }
}

/// Returns whether there is an image of any version at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let end = offset.checked_add(SUPERBLOCK_LEN as u64);
    if end.is_none_or(|end| end > source.len()) {
        return Ok(false);
    }
    let mut signature = [0; 8];
    source.read_at(offset, &mut signature)?;
    let (magic, version) = signature.split_at(MAGIC.len());
    Ok(magic == MAGIC && version.iter().all(u8::is_ascii_digit))
}

fn superblock(window: &Window) -> Result<SuperblockFields> {
    if !is_image(window, 0)? {
        return Err(Error::invalid("no Cromfs image"));
    }
    let mut bytes = [0; SUPERBLOCK_LEN];
    window.read_at(0, &mut bytes)?;
    SuperblockFields::decode(&bytes)
}

/// Reads an inode that is not in the inode table. It ends where another part of the image begins.
fn single_inode(
    window: &Window,
    head: &SuperblockFields,
    at: u64,
    budget: &mut MemoryBudget,
) -> Result<Vec<u8>> {
    let parts = [
        head.inotab_at,
        head.root_at,
        head.blocks_at,
        head.fblocks_at,
    ];
    let end = parts.into_iter().filter(|part| *part > at).min();
    let stored = stored_between(at, end.unwrap_or(window.len()))?;
    budget.take(stored, "an inode")?;
    let stream = window.read(at, stored)?.to_vec();
    if head.version == Version::V01 {
        return Ok(stream);
    }
    let len = lzma::declared_len(&stream, stored, u64::MAX)?;
    budget.take(len, "an inode")?;
    let inode = lzma::decode(stream, len)?;
    budget.give_back(stored);
    Ok(inode)
}

/// Returns the flags in the inode of the inode table; there are none before version 3.
fn features(head: &SuperblockFields, inotab: &[u8]) -> Result<Features> {
    if head.version < Version::V03 {
        return Ok(Features::default());
    }
    let fields = inotab.first_chunk().map(InodeFields::decode);
    let fields = fields.ok_or_else(|| Error::corrupt("an inode that is cut off"))?;
    let features = Features(fields.mode);
    features.check()?;
    Ok(features)
}

/// Reads the inode table.
fn inode_table(
    content: &CromfsContent,
    inotab: &[u8],
    budget: &mut MemoryBudget,
) -> Result<Vec<u8>> {
    let list = content.inode(inotab)?;
    budget.take(list.fields.size, "the inode table")?;
    let mut table = vec![0; usize::try_from(list.fields.size).unwrap_or(0)];
    content.read(&list, 0, &mut table)?;
    Ok(table)
}

fn image_info(
    head: &SuperblockFields,
    content: &CromfsContent,
    inodes: &CromfsInodes,
) -> ImageInfo {
    let mut bytes = 0u64;
    for node in inodes.nodes.iter().filter(|n| n.kind == FileType::File) {
        // one that cannot be read is an error where it is used
        let list = inodes.inode(content, node.number);
        bytes = bytes.saturating_add(list.map_or(0, |list| list.fields.size));
    }
    ImageInfo {
        format: "cromfs",
        version: head.version.name().to_owned(),
        root: Ino(1),
        totals: FsInfo {
            inodes: inodes.nodes.len() as u64,
            bytes: Some(bytes),
            stored: content.fblocks.window.len(),
            block_size: head.block_size.into(),
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: false,
            special_hard_links: true,
            holes: false,
            all_times: false,
            time_unit: 1_000_000_000,
        },
    }
}
