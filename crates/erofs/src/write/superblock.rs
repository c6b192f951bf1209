//! The superblock: what a reader needs to find everything else.
//!
//! In: what was written and where. Out: the first block. Format: `docs/formats/erofs.md`, "The
//! image".

use sinterfs_block::checksum::{crc32c, sha512_256};
use sinterfs_model::{Error, NodeId, Result};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

use super::content_tables::ContentTables;
use super::inode_offsets::MetadataLayout;
use super::inodes::Inodes;
use super::limits::BLOCK;
use super::options::{Form, WriteOptions};
use super::volume_id::Uuid;
use crate::layout::compressed::CLUSTER_MAX;
use crate::layout::{
    Algorithm, DeviceHeader, DeviceSlot, MAGIC, SUPERBLOCK_OFFSET, Superblock, XATTR_WORD, compat,
    incompat,
};

/// The facts that the superblock describes: an image that is complete except for its first block.
#[derive(Debug)]
pub(super) struct Finished<'a> {
    pub(super) inodes: &'a Inodes<'a>,
    pub(super) tables: &'a ContentTables,
    pub(super) layout: MetadataLayout,
    /// The location of content, if not in the image itself.
    pub(super) device: Option<Device>,
    /// The position of the table of long prefixes in the packed inode; `None` if it is in the first
    /// block.
    pub(super) prefixes_packed_at: Option<u64>,
    /// A hash of everything else.
    pub(super) hash: u64,
}

/// A further device, which has all content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Device {
    /// Its name, padded with zeros.
    pub(super) tag: [u8; 64],
    pub(super) blocks: u64,
    /// Its first block in the address space that it shares with the image.
    pub(super) first_block: u64,
    /// A hash of its content; `None` if it is no device of ours, and has no identity.
    pub(super) hash: Option<u64>,
}

impl Device {
    /// Returns what identifies it, here and in its own first block; zeros if nothing does.
    pub(super) fn header(&self) -> DeviceHeader {
        let Some(of_content) = self.hash else {
            return DeviceHeader::new_zeroed();
        };
        let mut identity = [0; 16];
        let (hash, len) = identity.split_at_mut(8);
        hash.copy_from_slice(&of_content.to_le_bytes());
        len.copy_from_slice(&self.blocks.to_le_bytes());
        DeviceHeader {
            magic: DeviceHeader::MAGIC,
            identity,
        }
    }
}

/// Makes the first block.
pub(super) fn first_block(image: &Finished<'_>) -> Result<Vec<u8>> {
    let options = &image.tables.options;
    let mut raw = base_superblock(image)?;
    let config = config(options);
    if let Some(algorithm) = options.compression.algorithm()
        && !config.is_empty()
    {
        raw.algorithms = U16::new(1 << algorithm.number());
        add(&mut raw.feature_incompat, incompat::COMPR_CFGS);
    }
    let mut block = vec![0; BLOCK as usize];
    let len = Superblock::BASE + usize::from(raw.extensions) * Superblock::EXTENSION;
    let mut hashes = image.hash.to_le_bytes().to_vec();
    let mut end = SUPERBLOCK_OFFSET as usize + len + size_of::<u16>() + config.len();
    if let Some(device) = &image.device {
        end = put_device(&mut block, &mut raw, device, end)?;
        hashes.extend(device.hash.into_iter().flat_map(u64::to_le_bytes));
    }
    put_prefixes(&mut block, &mut raw, image, end)?;
    put_superblock(&mut block, &raw, len, &config)?;
    raw.uuid = match options.own.uuid {
        Some(Uuid(uuid)) => uuid,
        None => derived_uuid(&block, &hashes),
    };
    put_superblock(&mut block, &raw, len, &config)?;
    // of a block after its beginning, if that is before the superblock
    let from = SUPERBLOCK_OFFSET as usize;
    let len_of_block = options.own.extended.block.bytes() as usize;
    let end = match len_of_block.checked_sub(from) {
        Some(1..) => len_of_block,
        _ => from + len_of_block,
    };
    let checked = block.get(from..end).unwrap_or_default();
    raw.checksum = U32::new(crc32c(u32::MAX, checked));
    put_superblock(&mut block, &raw, len, &config)?;
    Ok(block)
}

/// Makes a superblock without the fields for codecs, devices, prefixes, UUID and checksum.
fn base_superblock(image: &Finished<'_>) -> Result<Superblock> {
    let Finished {
        inodes,
        tables,
        layout,
        ..
    } = image;
    let (options, root) = (&tables.options, inodes.nid(NodeId::ROOT));
    let mut raw = Superblock::new_zeroed();
    raw.magic = U32::new(MAGIC);
    raw.feature_compat = U32::new(compat::SB_CHKSUM | compat::MTIME);
    raw.block_bits = options.own.extended.block.bits();
    raw.inodes = U64::new(inodes.tree.nodes().len() as u64);
    raw.epoch = U64::from_bytes(inodes.times.epoch.to_le_bytes());
    raw.fixed_nanos = U32::new(inodes.times.nanos);
    // as mkfs.erofs counts: what an index refers to is part of the volume
    let referred = image.device.filter(|device| device.hash.is_none());
    raw.blocks = number(layout.end + referred.map_or(0, |device| device.blocks))?;
    raw.meta_block = number(layout.inodes)?;
    raw.xattr_block = number(layout.xattrs)?;
    raw.volume_name = options.own.label.0;
    raw.build_time = U32::new(inodes.times.made);
    raw.packed_nid = U64::new(layout.packed.unwrap_or(0));
    if options.own.kernel.knows_extents() {
        raw.extensions = 1;
        raw.root_nid = U64::new(root);
    } else {
        let root = u16::try_from(root).map_err(|_| too_large())?;
        raw.root_nid_or_blocks_high = U16::new(root);
    }
    if inodes.xattrs.is_any {
        add(&mut raw.feature_compat, compat::XATTR_FILTER);
    }
    let has_48_bits = options.own.kernel.knows_extents();
    let refers = options.own.extended.dedupe || tables.units.has_moved();
    for (is_used, feature) in [
        (has_48_bits, incompat::BIT48),
        (
            has_48_bits
                || options.form() == Form::Clusters && !options.own.extended.legacy_compress,
            incompat::ZERO_PADDING,
        ),
        (layout.packed.is_some() || refers, incompat::FRAGMENTS),
        (tables.inline_tails.has_encoded, incompat::ZTAILPACKING),
        (layout.chunked, incompat::CHUNKED_FILE),
    ] {
        if is_used {
            add(&mut raw.feature_incompat, feature);
        }
    }
    Ok(raw)
}

fn add(features: &mut U32, bits: u32) {
    *features = U32::new(features.get() | bits);
}

/// Puts the table of devices after `end`, and returns the end of the table.
fn put_device(
    block: &mut [u8],
    raw: &mut Superblock,
    device: &Device,
    end: usize,
) -> Result<usize> {
    const SLOT: usize = size_of::<DeviceSlot>();
    let slot = end.div_ceil(SLOT);
    add(&mut raw.feature_incompat, incompat::DEVICE_TABLE);
    raw.extra_devices = U16::new(1);
    raw.device_slot = U16::new(slot as u16);
    // addresses of inodes have 32 bits
    number(device.first_block.saturating_add(device.blocks))?;
    let mut entry = DeviceSlot::new_zeroed();
    entry.tag = device.tag;
    entry.header = device.header();
    entry.blocks = number(device.blocks)?;
    entry.first_block = number(device.first_block)?;
    put(block, slot * SLOT, entry.as_bytes())?;
    Ok((slot + 1) * SLOT)
}

/// Records the long prefixes, and puts their table after `end` if it is not in the packed inode.
fn put_prefixes(
    block: &mut [u8],
    raw: &mut Superblock,
    image: &Finished<'_>,
    end: usize,
) -> Result<()> {
    let prefixes = &image.inodes.xattrs.prefixes;
    raw.xattr_prefix_count = prefixes.count();
    if raw.xattr_prefix_count == 0 {
        return Ok(());
    }
    add(&mut raw.feature_incompat, incompat::XATTR_PREFIXES);
    let at = end.next_multiple_of(XATTR_WORD as usize) as u64;
    let start = image.prefixes_packed_at.unwrap_or(at);
    raw.xattr_prefix_start = number(start / XATTR_WORD)?;
    if image.prefixes_packed_at.is_none() {
        put(block, at as usize, &prefixes.table())?;
        if image.tables.options.own.kernel.knows_plain_prefixes() {
            add(&mut raw.feature_compat, compat::PLAIN_XATTR_PFX);
        }
    }
    Ok(())
}

/// Puts bytes into the first block.
fn put(block: &mut [u8], at: usize, bytes: &[u8]) -> Result<()> {
    let room = block.get_mut(at..at + bytes.len());
    room.ok_or_else(too_large)?.copy_from_slice(bytes);
    Ok(())
}

/// Makes the configuration of the codec; none for images that kernels without configurations read.
fn config(options: &WriteOptions) -> Vec<u8> {
    let is_lz4 = options.compression.algorithm() == Some(Algorithm::Lz4);
    let is_small = u64::from(options.block_size) == BLOCK;
    match options.form() {
        Form::Clusters if is_lz4 && is_small => Vec::new(),
        Form::Clusters => options
            .compression
            .config(options.unit(), options.block_size),
        Form::Plain | Form::Chunks | Form::Extents => options
            .compression
            .config(options.block_size, CLUSTER_MAX as u32),
    }
}

/// Puts the superblock and the configuration of the codec into the first block.
fn put_superblock(block: &mut [u8], raw: &Superblock, len: usize, config: &[u8]) -> Result<()> {
    let mut bytes = raw.as_bytes().get(..len).unwrap_or_default().to_vec();
    if !config.is_empty() {
        bytes.extend_from_slice(&(config.len() as u16).to_le_bytes());
        bytes.extend_from_slice(config);
    }
    put(block, SUPERBLOCK_OFFSET as usize, &bytes)
}

/// Derives a UUID from the bytes of the image: version 8 of RFC 9562.
fn derived_uuid(block: &[u8], hashes: &[u8]) -> [u8; 16] {
    let digest = sha512_256(&[block, hashes].concat());
    let mut uuid = [0; 16];
    uuid.iter_mut()
        .zip(digest)
        .for_each(|(to, from)| *to = from);
    let [.., version, _, variant, _, _, _, _, _, _, _] = &mut uuid;
    *version = *version & 0x0f | 0x80;
    *variant = *variant & 0x3f | 0x80;
    uuid
}

fn number(value: u64) -> Result<U32> {
    u32::try_from(value).map(U32::new).map_err(|_| too_large())
}

#[cold]
fn too_large() -> Error {
    Error::limit("an image of 16 TiB or more")
}
