//! Opens a file system, and reads inodes by their numbers.
//!
//! In: a source of bytes. Out: `Ext`.
//!
//! **Invariant:** memory is 8 bytes for each group, the listings that were read last (64 MiB, or
//! one that is larger), and those that are in use.

use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{
    Capability, Error, FileType, FsInfo, ImageInfo, Ino, Limits, ListingErrors, Result,
};

use super::listings::ListingCache;
use crate::layout::{
    ExtInode, ExtSuperblock, INODE_READ, Incompat, ROOT, SUPERBLOCK_AT, SUPERBLOCK_LEN, part,
};

/// Options for opening a file system.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The offset of the file system in its file.
    pub offset: u64,
    /// Bounds of the memory that the image can make the reader allocate.
    pub limits: Limits,
    /// A cache to share with other images; content is not encoded, so it stays empty.
    pub cache: Option<Arc<BlockCache>>,
}

/// An opened file system. Many threads may read it at once.
pub struct Ext {
    pub(crate) window: Window,
    pub(crate) head: ExtSuperblock,
    pub(super) listings: ListingCache,
    /// Entries that no listing shows.
    pub(crate) left_out: ListingErrors,
    pub(super) info: ImageInfo,
    /// The block of the inode table of each group.
    tables: Vec<u64>,
    cache: Arc<BlockCache>,
    /// The bytes of memory that a listing may take.
    pub(super) metadata_limit: u64,
}

impl std::fmt::Debug for Ext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Ext");
        shown.field("head", &self.head).finish_non_exhaustive()
    }
}

impl Ext {
    /// Opens a file system.
    ///
    /// `Invalid` if there is none, `Unsupported` for unknown features and a journal that has to be
    /// replayed, `Corrupt` if it is inconsistent, `Limit` if it exceeds `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Self> {
        let in_superblock = |error: Error| error.at("superblock", options.offset + SUPERBLOCK_AT);
        let window = Window::from(source, options.offset)?;
        if !is_image(&window, 0)? {
            return Err(in_superblock(Error::invalid(
                "no ext2, ext3 or ext4 file system",
            )));
        }
        let head = superblock(&window).map_err(in_superblock)?;
        head.check().map_err(in_superblock)?;
        let tables = inode_tables(&window, &head, &options.limits).map_err(in_superblock)?;
        let cache = options.cache.clone();
        let unit = u64::from(head.block_size);
        let ext = Self {
            info: image_info(&head, window.len()),
            window,
            head,
            listings: ListingCache::default(),
            left_out: ListingErrors::default(),
            tables,
            cache: cache.unwrap_or_else(|| Arc::new(BlockCache::new(0, unit))),
            metadata_limit: options.limits.metadata,
        };
        let root = ext.fields(ROOT)?;
        if FileType::from_mode(root.mode.into()) != Some(FileType::Directory) {
            return Err(located(Error::corrupt("the root is not a directory"), ROOT));
        }
        Ok(ext)
    }

    /// Returns the superblock.
    pub fn head(&self) -> &ExtSuperblock {
        &self.head
    }

    /// Returns the offset of the file system in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.window.start()
    }

    /// Returns the cache that the file system was opened with.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// Reads the bytes of an inode.
    pub(super) fn inode_bytes(&self, number: u32) -> Result<Vec<u8>> {
        let missing = || Error::no_inode(number.into());
        let index = number.checked_sub(1).filter(|i| *i < self.head.inodes);
        let index = index.ok_or_else(missing)?;
        let table = self.tables.get((index / self.head.group_inodes) as usize);
        let table = table.ok_or_else(missing)?;
        let len = u64::from(self.head.inode_len);
        let within = u64::from(index % self.head.group_inodes).saturating_mul(len);
        let at = table.saturating_mul(self.head.block_size.into());
        let bytes = self.window.read(at.saturating_add(within), len);
        let bytes = bytes.map_err(|error| located(error, number))?;
        Ok(bytes.to_vec())
    }

    /// Reads the fields of an inode.
    pub(crate) fn fields(&self, number: u32) -> Result<ExtInode> {
        let bytes = self.inode_bytes(number)?;
        let mut read = [0; INODE_READ];
        for (to, from) in read.iter_mut().zip(bytes) {
            *to = from;
        }
        Ok(ExtInode::decode(&read))
    }

    /// Reads a block.
    pub(super) fn block(&self, number: u64) -> Result<Vec<u8>> {
        let unit = u64::from(self.head.block_size);
        if number == 0 || number >= self.head.blocks {
            return Err(Error::corrupt(format!(
                "block {number} is not on the device"
            )));
        }
        Ok(self
            .window
            .read(number.saturating_mul(unit), unit)?
            .to_vec())
    }
}

/// Adds the number of an inode to an error without a place.
#[cold]
pub(super) fn located(error: Error, number: u32) -> Error {
    error.within(format!("inode {number}"))
}

/// Returns whether there is a file system at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let end = offset.checked_add(SUPERBLOCK_AT + SUPERBLOCK_LEN as u64);
    if end.is_none_or(|end| end > source.len()) {
        return Ok(false);
    }
    let mut bytes = [0; SUPERBLOCK_LEN];
    source.read_at(offset + SUPERBLOCK_AT, &mut bytes)?;
    Ok(ExtSuperblock::decode(&bytes).is_ok())
}

fn superblock(window: &Window) -> Result<ExtSuperblock> {
    let mut bytes = [0; SUPERBLOCK_LEN];
    window.read_at(SUPERBLOCK_AT, &mut bytes)?;
    ExtSuperblock::decode(&bytes)
}

/// Reads the block of the inode table of each group.
fn inode_tables(window: &Window, head: &ExtSuperblock, limits: &Limits) -> Result<Vec<u64>> {
    let groups = u64::from(head.inodes.div_ceil(head.group_inodes));
    let len = u64::from(head.descriptor_len);
    let at = (u64::from(head.first_block) + 1) * u64::from(head.block_size);
    if groups.saturating_mul(8 + len) > limits.metadata {
        let what = format!("{groups} groups are more than metadata may hold");
        return Err(Error::limit(what));
    }
    let bytes = window.read(at, groups.saturating_mul(len))?;
    let is_wide = head.incompat.has(Incompat::WIDE) && len >= 64;
    let descriptors = bytes.chunks_exact(usize::from(head.descriptor_len));
    Ok(descriptors
        .map(|bytes| {
            let low = u64::from(u32::from_le_bytes(part(bytes, 0x8)));
            let high = if is_wide {
                u32::from_le_bytes(part(bytes, 0x28))
            } else {
                0
            };
            low | (u64::from(high) << 32)
        })
        .collect())
}

fn image_info(head: &ExtSuperblock, len: u64) -> ImageInfo {
    // what a walk takes for the number of directories: not more than there is room for
    let inodes = u64::from(head.inodes.saturating_sub(head.free_inodes));
    ImageInfo {
        format: "ext",
        version: head.version().to_owned(),
        root: Ino(ROOT.into()),
        totals: FsInfo {
            inodes: inodes.min(len / u64::from(head.inode_len)),
            bytes: None,
            stored: head.blocks.saturating_mul(head.block_size.into()),
            block_size: head.block_size.into(),
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: true,
            special_hard_links: true,
            holes: true,
            all_times: true,
            time_unit: if head.inode_len > 128 {
                1
            } else {
                1_000_000_000
            },
        },
    }
}
