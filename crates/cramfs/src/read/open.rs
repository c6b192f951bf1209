//! Opens an image: checks the superblock, and reads all inodes.
//!
//! In: a source of bytes. Out: `Cramfs`.
//!
//! **Invariant:** besides the cache of blocks, memory holds the inodes, which the limits bound.

use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache};
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FileType, FsInfo, ImageInfo, Ino, Result};

use super::block_size;
use super::blocks::BlockReader;
use super::nodes::Nodes;
use super::superblock::SuperblockFields;
use crate::layout::{BLOCK_SIZE, Flags, PADDING, SUPERBLOCK_LEN};

/// Bytes from the start on that a remote source fetches when an image is opened.
const LISTINGS_AHEAD: u64 = 512 << 10;

/// An opened CRAMFS image. Many threads may read it at once.
///
/// Memory: the cache of blocks, and 48 bytes per inode with the names.
pub struct Cramfs {
    pub(crate) head: SuperblockFields,
    pub(crate) nodes: Nodes,
    pub(crate) blocks: BlockReader,
    pub(super) info: ImageInfo,
    pub(super) cache: Arc<BlockCache>,
    pub(super) cache_key: u128,
}

impl std::fmt::Debug for Cramfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Cramfs");
        shown.field("head", &self.head).finish_non_exhaustive()
    }
}

impl Cramfs {
    /// Opens an image.
    ///
    /// `Invalid` if there is no image, `Unsupported` for unknown flags, `Corrupt` if the image is
    /// inconsistent, `Limit` if it exceeds `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let start = options.start_offset();
        let located = |error: Error| error.at("superblock", start);
        let whole = Window::from(Arc::clone(&source), start)?;
        let head = SuperblockFields::read(&whole).map_err(located)?;
        check_root(&head).map_err(located)?;
        let window = Window::new(source, start, head.size)?;
        // listings are in front of the content; all of them are read
        window.will_need(&[0..LISTINGS_AHEAD]);
        let nodes = Nodes::read(&window, &head, &options.limits)?;
        let mut blocks = BlockReader {
            window,
            order: head.order,
            flags: head.flags,
            block_size: BLOCK_SIZE,
        };
        blocks.block_size = block_size::find(&nodes, &blocks);
        let cache = options.cache.clone().unwrap_or_else(|| {
            let typical = u64::from(blocks.block_size);
            Arc::new(BlockCache::new(options.cache_bytes, typical))
        });
        Ok(Self {
            info: image_info(&head, &nodes, blocks.block_size),
            head,
            nodes,
            blocks,
            cache,
            cache_key: cache::image_key(),
        })
    }

    /// Returns the superblock.
    pub fn head(&self) -> &SuperblockFields {
        &self.head
    }

    /// Returns the block size in bytes.
    pub fn block_size(&self) -> u32 {
        self.blocks.block_size
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.blocks.file_offset(0)
    }

    /// Returns the cache of decoded blocks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }
}

/// Checks the position of the root's listing.
fn check_root(head: &SuperblockFields) -> Result<()> {
    let (listing, len) = (head.root.offset(), SUPERBLOCK_LEN as u64);
    let usual = [0, len, PADDING + len];
    if usual.contains(&listing) || head.flags.has(Flags::SHIFTED_ROOT) {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the listing of the root is at {listing:#x}, which no flag says"
    )))
}

fn image_info(head: &SuperblockFields, nodes: &Nodes, block_size: u32) -> ImageInfo {
    let files = nodes
        .all()
        .iter()
        .filter(|node| node.kind == FileType::File);
    let bytes = files.map(|node| u64::from(node.fields.size)).sum();
    ImageInfo {
        format: "cramfs",
        version: head.version().to_string(),
        root: Ino(1),
        totals: FsInfo {
            inodes: nodes.all().len() as u64,
            bytes: Some(bytes),
            stored: head.size,
            block_size: block_size.into(),
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: false,
            special_hard_links: false,
            holes: true,
            all_times: false,
            time_unit: 1_000_000_000,
        },
    }
}
