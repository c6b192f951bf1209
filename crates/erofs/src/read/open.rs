//! Opening an image, and recognizing one.
//!
//! **Invariant:** opening checks the superblock and the special inodes, in constant time; all other
//! metadata is checked whenever it is read, so that damage is an error only for those that need
//! what is damaged.

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache};
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, FsInfo, ImageInfo, Ino, Kind, ListingErrors, Result};
use zerocopy::FromBytes;

use super::checked_tables::CheckedTables;
use super::device::{Devices, Slot};
use super::erofs::Erofs;
use super::found_extents::FoundExtents;
use super::superblock::{self, Superblock};
use crate::layout::{self, COMPOSEFS_MAGIC, ComposefsHeader, INODE_SLOT, SUPERBLOCK_OFFSET};

/// The typical size of a cached block in bytes.
const TYPICAL: u64 = 64 << 10;

/// Bytes of metadata an inode, with names and the inline tail of a small file, that a remote source
/// fetches when the image is opened, and the most for all inodes.
const INODE_AHEAD: u64 = 1024;
const METADATA_AHEAD: u64 = 2 << 20;

impl Erofs {
    /// Opens an image and checks its superblock.
    ///
    /// # Errors
    ///
    /// `Invalid` if there is no image, `Unsupported` for unknown features, `Corrupt` if the
    /// superblock or the special inodes contradict themselves.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        Self::open_with(source, &[], options)
    }

    /// Opens an image whose further devices are these, in their order; a missing one is an error
    /// when it is needed.
    ///
    /// # Errors
    ///
    /// As [`Erofs::open`].
    pub fn open_with(
        source: Arc<dyn ReadAt>,
        devices: &[Arc<dyn ReadAt>],
        options: &ReadOptions,
    ) -> Result<Self> {
        let source = window(source, options.start_offset())?;
        let superblock = Superblock::read(&*source, options.salvage)?;
        let info = image_info(&superblock, source.len());
        source.will_need(&[metadata_ahead(&superblock)]);
        let composefs = composefs_version(&*source)?;
        let bits = superblock.block_bits;
        let devices = Devices::new(source, &superblock.devices, devices, bits)?;
        let cache = options.cache.clone();
        let mut image = Self {
            superblock,
            offset: options.start_offset(),
            devices,
            prefixes: Vec::new(),
            packed: None,
            metabox: None,
            packed_extents_found: FoundExtents::default(),
            checked_tables: CheckedTables::default(),
            info,
            left_out: ListingErrors::default(),
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
}

/// Lists the devices that are needed to read an image; none if it contains them. Reads nothing but
/// the superblock.
pub fn needed_devices(source: &Arc<dyn ReadAt>, offset: u64) -> Result<Vec<Slot>> {
    let source = window(Arc::clone(source), offset)?;
    // the caller decides whether the checksum matters
    let superblock = Superblock::read(&*source, true)?;
    let slots = superblock.devices;
    let devices = Devices::new(source, &slots, &[], superblock.block_bits)?;
    Ok(match devices.missing().next() {
        Some(_) => slots,
        None => Vec::new(),
    })
}

/// Returns the range of the file that the checksum of the superblock covers, if that is right: the
/// UUID is in it. None for an image without a checksum.
///
/// # Errors
/// What the source reports.
pub fn checked_part(source: &Arc<dyn ReadAt>, offset: u64) -> Result<Vec<Range<u64>>> {
    let window = window(Arc::clone(source), offset)?;
    let found = match Superblock::read(&*window, false) {
        Ok(found) => found,
        Err(error) if error.kind() == Kind::Corrupt => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // the checksum covers at least as much
    let start = offset.saturating_add(SUPERBLOCK_OFFSET);
    let len = size_of::<layout::Superblock>() as u64;
    let covered = found.checksum.map(|_| start..start.saturating_add(len));
    Ok(covered.into_iter().collect())
}

/// Returns the bytes that probably hold the inodes: listings read them from directory to directory.
fn metadata_ahead(superblock: &Superblock) -> Range<u64> {
    let len = superblock.inodes.saturating_mul(INODE_AHEAD);
    let start = superblock.meta_start;
    start..start.saturating_add(len.min(METADATA_AHEAD))
}

fn window(source: Arc<dyn ReadAt>, offset: u64) -> Result<Arc<dyn ReadAt>> {
    Ok(match offset {
        0 => source,
        offset => Arc::new(Window::from(source, offset)?),
    })
}

/// Returns whether an EROFS image begins at an offset of a source.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    superblock::is_image(source, offset)
}

/// Returns the number of inodes in the superblock, but no more than there is room for in the image
/// and the metabox; that many if the superblock has none.
fn inodes(superblock: &Superblock, stored: u64, metabox: u64) -> u64 {
    let room = (stored / INODE_SLOT).saturating_add(metabox / INODE_SLOT);
    match superblock.inodes {
        0 => room,
        said => said.min(room),
    }
}

/// Returns the version of the format that the beginning of a composefs image names; `None` for
/// other images.
fn composefs_version(source: &dyn ReadAt) -> Result<Option<u32>> {
    let mut bytes = [0; size_of::<ComposefsHeader>()];
    if source.len() < bytes.len() as u64 {
        return Ok(None);
    }
    source.read_at(0, &mut bytes)?;
    let header = ComposefsHeader::ref_from_bytes(&bytes).ok();
    let ours = header.filter(|header| header.magic.get() == COMPOSEFS_MAGIC);
    Ok(ours.map(|header| header.version.get()))
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
        checked_in_order: false,
        capability: Capability {
            xattrs: true,
            special_hard_links: true,
            holes: true,
            all_times: false,
            time_unit: 1,
        },
    }
}
