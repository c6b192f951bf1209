//! Opens an image: checks the superblock, and finds all inodes.
//!
//! In: a source of bytes. Out: `Romfs`.
//!
//! **Invariant:** memory holds the inodes, which the limits bound.

use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FileType, FsInfo, ImageInfo, Ino, Result};

use super::inodes::InodeTable;
use super::record::{ALIGN, HEADER_LEN, name};

/// The first bytes of an image.
const MAGIC: &[u8; 8] = b"-rom1fs-";

/// The block size that Linux reports.
const BLOCK_SIZE: u64 = 1024;

/// An opened romfs image. Many threads may read it at once.
///
/// Memory: about 100 bytes per name.
pub struct Romfs {
    pub(crate) window: Window,
    pub(crate) volume: Vec<u8>,
    pub(crate) inodes: InodeTable,
    pub(super) info: ImageInfo,
    cache: Arc<BlockCache>,
}

impl std::fmt::Debug for Romfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Romfs");
        shown.field("window", &self.window).finish_non_exhaustive()
    }
}

impl Romfs {
    /// Opens an image.
    ///
    /// `Invalid` if there is no image, `Corrupt` if it is inconsistent, `Limit` if it exceeds
    /// `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let start = options.start_offset();
        let located = |error: Error| error.at("superblock", start);
        if !is_image(&*source, start)? {
            return Err(located(Error::invalid("no romfs image")));
        }
        let mut size = [0; 4];
        source.read_at(start + 8, &mut size)?;
        let size = u64::from(u32::from_be_bytes(size));
        let window = Window::new(source, start, size).map_err(located)?;
        let volume = name(&window, HEADER_LEN).map_err(located)?;
        let root = HEADER_LEN + volume.len() as u64 + 1;
        let root = u32::try_from(root.next_multiple_of(ALIGN)).unwrap_or(u32::MAX);
        let inodes = InodeTable::read(&window, root, &options.limits)?;
        let cache = options.cache.clone();
        Ok(Self {
            info: image_info(size, &inodes),
            window,
            volume,
            inodes,
            cache: cache.unwrap_or_else(|| Arc::new(BlockCache::new(0, BLOCK_SIZE))),
        })
    }

    /// Returns the name of the volume.
    pub fn volume(&self) -> &[u8] {
        &self.volume
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.window.start()
    }

    /// Returns the cache that the image was opened with.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }
}

/// Returns whether there is an image at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    if offset
        .checked_add(HEADER_LEN)
        .is_none_or(|end| end > source.len())
    {
        return Ok(false);
    }
    let mut magic = [0; 8];
    source.read_at(offset, &mut magic)?;
    Ok(&magic == MAGIC)
}

fn image_info(size: u64, inodes: &InodeTable) -> ImageInfo {
    let files = inodes
        .nodes
        .iter()
        .filter(|node| node.kind == FileType::File);
    ImageInfo {
        format: "romfs",
        version: "1".to_owned(),
        root: Ino(1),
        totals: FsInfo {
            // names that stand for no file have one number
            inodes: inodes.nodes.len() as u64 + u64::from(inodes.dangling().next().is_some()),
            bytes: Some(files.map(|node| u64::from(node.fields.size)).sum()),
            stored: size,
            block_size: BLOCK_SIZE,
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
