//! Reads EROFS images: opens them, answers `sinterfs_model::Image`.
//!
//! In: a source of bytes, and those of further devices. Out: `Erofs`.
//!
//! **Invariant:** opening checks the superblock alone, in constant time; all other metadata is
//! checked when it is used, each time, so that damage is an error of those who meet it. No object
//! is kept for an inode.

mod cluster;
mod config;
mod device;
mod directory;
mod image;
mod inode;
mod inspect;
mod map;
mod metadata;
mod pages;
mod superblock;
mod xattr;

use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache};
use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Capability, FsInfo, ImageInfo, Ino, Limits, Result};

use crate::composefs;
use crate::layout::INODE_SLOT;
use device::Devices;
pub(crate) use inode::Node;
use xattr::Prefix;

pub use config::{Algorithm, Configs};
pub use device::Slot;
pub(crate) use inspect::Inspected;
pub use inspect::StoredRun;
pub use superblock::Superblock;

/// Says how to open an image.
#[derive(Clone)]
pub struct OpenOptions {
    /// Where the image starts in its source, in bytes.
    pub offset: u64,
    /// The image's further devices, in their order; those that are missing are missed when they
    /// are needed.
    pub devices: Vec<Arc<dyn ReadAt>>,
    /// What the image may make the reader allocate.
    pub limits: Limits,
    /// Bytes of decoded clusters and metadata to keep, if `cache` is not given.
    pub cache_bytes: u64,
    /// A cache to share with other images.
    pub cache: Option<Arc<BlockCache>>,
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions")
            .field("offset", &self.offset)
            .field("devices", &self.devices.len())
            .field("limits", &self.limits)
            .field("cache_bytes", &self.cache_bytes)
            .finish_non_exhaustive()
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            offset: 0,
            devices: Vec::new(),
            limits: Limits::default(),
            cache_bytes: 512 << 20,
            cache: None,
        }
    }
}

/// What the cache takes as the usual size of what it keeps, in bytes.
const TYPICAL: u64 = 64 << 10;

/// An opened EROFS image. Many threads may read it at once.
///
/// Besides the cache it keeps the superblock, the table of devices and the long prefixes of names.
pub struct Erofs {
    superblock: Superblock,
    offset: u64,
    devices: Devices,
    prefixes: Vec<Prefix>,
    packed: Option<Node>,
    metabox: Option<Node>,
    packed_runs: map::Found,
    extents_in_order: map::InOrder,
    info: ImageInfo,
    /// The version of composefs, if it is an image of that.
    composefs: Option<u32>,
    cache: Arc<BlockCache>,
    cache_key: u128,
}

impl Erofs {
    /// Opens an image and checks its superblock.
    ///
    /// `Invalid` if there is no image, `Unsupported` for unknown features, `Corrupt` if the
    /// superblock or the special inodes contradict themselves.
    pub fn open(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Self> {
        let source = window(source, options.offset)?;
        let superblock = Superblock::read(&*source)?;
        let info = image_info(&superblock, source.len());
        let composefs = composefs::version(&*source)?;
        let bits = superblock.block_bits;
        let devices = Devices::new(source, &superblock.devices, &options.devices, bits)?;
        let cache = options.cache.clone();
        let mut image = Self {
            superblock,
            offset: options.offset,
            devices,
            prefixes: Vec::new(),
            packed: None,
            metabox: None,
            packed_runs: map::Found::default(),
            extents_in_order: map::InOrder::default(),
            info,
            composefs,
            cache: cache.unwrap_or_else(|| Arc::new(BlockCache::new(options.cache_bytes, TYPICAL))),
            cache_key: cache::image_key(),
        };
        image.metabox = image.special(image.superblock.metabox, "metabox")?;
        let metabox = image.metabox.as_ref().map_or(0, |metabox| metabox.size);
        image.info.totals.inodes = inodes(&image.superblock, image.info.totals.stored, metabox);
        image.packed = image.special(image.superblock.packed, "packed inode")?;
        image.prefixes = image.read_prefixes()?;
        Ok(image)
    }

    /// Returns the cache of decoded blocks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// Returns what the superblock says.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Returns where the image starts in its file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the version of composefs' format; `None` for an image that is not of composefs.
    pub fn composefs_version(&self) -> Option<u32> {
        self.composefs
    }

    /// Returns the devices that were not given, counted from 1.
    pub fn missing_devices(&self) -> Vec<usize> {
        self.devices.missing().collect()
    }

    /// Returns the numbers and sizes of the packed inode and the metabox.
    pub fn special_inodes(&self) -> Vec<(&'static str, u64, u64)> {
        let named = [("packed inode", &self.packed), ("metabox", &self.metabox)];
        let there = named.into_iter();
        there
            .filter_map(|(name, node)| node.as_ref().map(|node| (name, node.nid, node.size)))
            .collect()
    }
}

/// Lists the devices that an image needs to be read; none if it has what is on them itself. Nothing
/// but the superblock is read.
pub fn needed_devices(source: &Arc<dyn ReadAt>, offset: u64) -> Result<Vec<Slot>> {
    let source = window(Arc::clone(source), offset)?;
    let superblock = Superblock::read(&*source)?;
    let slots = superblock.devices;
    let devices = Devices::new(source, &slots, &[], superblock.block_bits)?;
    Ok(match devices.missing().next() {
        Some(_) => slots,
        None => Vec::new(),
    })
}

fn window(source: Arc<dyn ReadAt>, offset: u64) -> Result<Arc<dyn ReadAt>> {
    Ok(match offset {
        0 => source,
        offset => Arc::new(Window::from(source, offset)?),
    })
}

/// Returns whether an EROFS image begins at a byte of a source.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    superblock::is_image(source, offset)
}

/// Counts inodes as the image does, but no more than there is room for in the image and the
/// metabox; that many if the image does not say.
fn inodes(superblock: &Superblock, stored: u64, metabox: u64) -> u64 {
    let room = (stored / INODE_SLOT).saturating_add(metabox / INODE_SLOT);
    match superblock.inodes {
        0 => room,
        said => said.min(room),
    }
}

fn image_info(superblock: &Superblock, stored: u64) -> ImageInfo {
    let block_size = superblock.block_size();
    ImageInfo {
        format: "erofs",
        version: "1".to_owned(),
        root: Ino(superblock.root),
        totals: FsInfo {
            inodes: inodes(superblock, stored, 0),
            bytes: None,
            stored,
            block_size,
        },
        capability: Capability {
            xattrs: true,
            special_hard_links: true,
            holes: true,
            all_times: false,
            time_unit: 1,
        },
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
