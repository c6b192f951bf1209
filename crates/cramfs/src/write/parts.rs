//! The parts of an image in their order: superblock, boot code, listings, content.
//!
//! In: the options, the tree with the map of its content, and the encoded blocks. Out: bytes.
//!
//! **Invariant:** the bytes are the same each time that they are emitted, so that the checksum in
//! front can be computed first.

use sinterfs_block::checksum::crc32;
use sinterfs_model::{ContentMap, MapExtent, Result, Tree};

use super::contents::{Blocks, CutOptions, PlacedContents};
use super::inventory::Inventory;
use super::listings::{ListingOffsets, Listings};
use super::options::WriteOptions;
use crate::layout::{Flags, PADDING, SUPERBLOCK_LEN};
use crate::read::SuperblockFields;

/// Zeros for padding.
const ZEROS: [u8; 4096] = [0; 4096];

/// An image that is laid out.
pub(super) struct ImageParts<'a> {
    map: &'a ContentMap,
    blocks: &'a Blocks,
    boot: &'a [u8],
    superblock: SuperblockFields,
    listings: Vec<u8>,
    listings_end: u64,
    contents: PlacedContents,
}

impl<'a> ImageParts<'a> {
    /// Lays out an image and computes its checksum.
    pub(super) fn new(
        options: &'a WriteOptions,
        (tree, map): (&Tree, &'a ContentMap),
        inventory: &Inventory<'_>,
        blocks: &'a Blocks,
    ) -> Result<Self> {
        let boot = &options.own.boot[..];
        let at = if options.own.front_padding {
            PADDING
        } else {
            0
        };
        let start = at + SUPERBLOCK_LEN as u64 + boot.len() as u64;
        let offsets = ListingOffsets::new(inventory, start.next_multiple_of(4))?;
        let cut = CutOptions {
            order: options.own.order,
            unit: options.block_size,
            compression: options.compression,
        };
        let contents = PlacedContents::new(cut, offsets.end, (tree, map), inventory, blocks)?;
        let size = if options.own.padding {
            contents.end.next_multiple_of(options.block_size.into())
        } else {
            contents.end
        };
        let listings = Listings {
            tree,
            map,
            inventory,
            offsets: &offsets,
            contents: &contents,
        };
        let superblock = SuperblockFields {
            at,
            order: options.own.order,
            size,
            flags: flags(options, map, inventory),
            checksum: 0,
            edition: options.own.edition,
            blocks: u32::try_from(contents.count).unwrap_or(u32::MAX),
            files: u32::try_from(inventory.entries.len()).unwrap_or(u32::MAX),
            name: name(options),
            root: listings.root(),
        };
        let mut parts = Self {
            map,
            blocks,
            boot,
            superblock,
            listings: listings.encode(options.own.order),
            listings_end: offsets.end,
            contents,
        };
        parts.seal()?;
        Ok(parts)
    }

    /// Sets the checksum.
    fn seal(&mut self) -> Result<()> {
        let mut state = u32::MAX;
        self.emit_from_superblock(&mut |bytes| {
            state = crc32(state, bytes);
            Ok(())
        })?;
        self.superblock.checksum = !state;
        Ok(())
    }

    /// Returns the length of the image in bytes.
    pub(super) fn len(&self) -> u64 {
        self.superblock.size
    }

    /// Emits the image.
    pub(super) fn emit(&self, emit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        zeros(self.superblock.at, emit)?;
        self.emit_from_superblock(emit)
    }

    fn emit_from_superblock(&self, emit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        emit(&self.superblock.encode())?;
        emit(self.boot)?;
        let boot = self.boot.len() as u64;
        zeros(boot.next_multiple_of(4) - boot, emit)?;
        emit(&self.listings)?;
        let (map, blocks) = (self.map, self.blocks);
        self.contents.emit(self.listings_end, map, blocks, emit)?;
        zeros(self.superblock.size - self.contents.end, emit)
    }
}

/// Emits zeros.
fn zeros(mut count: u64, emit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    while count > 0 {
        let now = usize::try_from(count).map_or(ZEROS.len(), |count| count.min(ZEROS.len()));
        emit(ZEROS.get(..now).unwrap_or_default())?;
        count -= now as u64;
    }
    Ok(())
}

fn name(options: &WriteOptions) -> [u8; 16] {
    let mut name = [0; 16];
    for (to, from) in name.iter_mut().zip(&options.own.label) {
        *to = *from;
    }
    name
}

fn flags(options: &WriteOptions, map: &ContentMap, inventory: &Inventory<'_>) -> Flags {
    let mut flags = Flags::VERSION_2 | Flags::SORTED;
    let mut lists = inventory
        .entries
        .iter()
        .map(|entry| map.extents(entry.node));
    let is_hole = |extent: &MapExtent| matches!(extent, MapExtent::Hole { .. });
    if lists.any(|extents| extents.iter().any(is_hole)) {
        flags |= Flags::HOLES;
    }
    // readers expect the listing of the root right after the superblock, padding or not
    if !options.own.boot.is_empty() {
        flags |= Flags::SHIFTED_ROOT;
    }
    Flags(flags)
}
