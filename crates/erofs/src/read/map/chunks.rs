//! Content in chunks of one size, each anywhere on any device, or a hole.

use sinterfs_model::{Error, Result};

use crate::layout::{ChunkIndex, chunk};
use crate::read::device::Address;
use crate::read::erofs::Erofs;
use crate::read::mapped::{ContentLocation, MappedExtent};
use crate::read::meta_offset::MetaOffset;
use crate::read::node::ErofsInode;

/// The chunk map of an inode.
#[derive(Debug)]
pub(crate) struct Chunks {
    table: MetaOffset,
    /// The size of chunks as a power of two, in bytes.
    bits: u32,
    indexes: bool,
    wide: bool,
}

/// Bytes of an entry of a table without indexes.
const ADDRESS: usize = size_of::<u32>();

impl Chunks {
    pub(super) fn new(image: &Erofs, node: &ErofsInode) -> Result<Self> {
        let [low, high, ..] = node.start.to_le_bytes();
        let format = u16::from_le_bytes([low, high]);
        if format & !chunk::ALL != 0 {
            return Err(Error::unsupported(format!("chunks of format {format:#x}")));
        }
        let bits = image.superblock.block_bits + u32::from(format & chunk::BITS_MASK);
        let indexes = format & chunk::INDEXES != 0;
        let entry = if indexes {
            size_of::<ChunkIndex>() as u64
        } else {
            ADDRESS as u64
        };
        Ok(Self {
            table: node.end().align(entry),
            bits,
            indexes,
            wide: format & chunk::BIT48 != 0,
        })
    }

    /// Returns the number of chunks.
    pub(crate) fn count(&self, node: &ErofsInode) -> u64 {
        node.size.div_ceil(1 << self.bits)
    }

    /// Returns the chunk at a position.
    pub(super) fn find(
        &self,
        image: &Erofs,
        node: &ErofsInode,
        position: u64,
    ) -> Result<MappedExtent> {
        let number = position >> self.bits;
        let start = number << self.bits;
        let len = (1 << self.bits).min(node.size - start);
        let location = self.location(image, number)?;
        Ok(MappedExtent {
            start,
            len,
            location,
        })
    }

    fn location(&self, image: &Erofs, number: u64) -> Result<ContentLocation> {
        let (device, block, hole) = if self.indexes {
            let entry = size_of::<ChunkIndex>() as u64;
            let index: ChunkIndex = image.fetch(self.table.skip(number.saturating_mul(entry)))?;
            let low = u64::from(index.start.get());
            let (block, hole) = if self.wide {
                (
                    low | u64::from(index.start_high.get()) << 32,
                    (1_u64 << 48) - 1,
                )
            } else {
                (low, u64::from(u32::MAX))
            };
            (index.device.get() & image.devices.mask(), block, hole)
        } else {
            let mut address = [0; ADDRESS];
            let at = self.table.skip(number.saturating_mul(ADDRESS as u64));
            image.read_metadata(at, &mut address)?;
            (
                0,
                u64::from(u32::from_le_bytes(address)),
                u64::from(u32::MAX),
            )
        };
        if block == hole {
            return Ok(ContentLocation::Hole);
        }
        let at = block.checked_mul(image.superblock.block_size());
        let at = at.ok_or_else(|| Error::corrupt(format!("a chunk in block {block:#x}")))?;
        Ok(ContentLocation::Stored(Address { device, at }))
    }
}
