//! The header of a compressed file's map, and what all kinds of such maps share.

use sinterfs_model::{Error, Result};

use crate::layout::compressed::{CLUSTER_MAX, ClusterType, DECODED_MAX, MapHeader, advise};
use crate::layout::{Algorithm, DataLayout};
use crate::read::erofs::Erofs;
use crate::read::mapped::{ContentLocation, MappedExtent, Pcluster, PclusterLocation};
use crate::read::meta_offset::MetaOffset;
use crate::read::node::ErofsInode;

/// The header of a map, in plain numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompressedHeader {
    /// Its end.
    pub(super) end: MetaOffset,
    low: u32,
    pub(super) advise: u16,
    algorithms: u8,
    cluster_bits: u8,
}

impl CompressedHeader {
    pub(super) fn read(image: &Erofs, node: &ErofsInode) -> Result<Self> {
        let meta = node.end().align(size_of::<MapHeader>() as u64);
        let raw: MapHeader = image.fetch(meta)?;
        Ok(Self {
            end: meta.skip(size_of::<MapHeader>() as u64),
            low: raw.low.get(),
            advise: raw.advise.get(),
            algorithms: raw.algorithms,
            cluster_bits: raw.cluster_bits,
        })
    }

    /// Returns the offset in the packed inode if all content is there.
    pub(super) fn whole_fragment(&self) -> Option<u64> {
        if self.cluster_bits & MapHeader::WHOLE_FRAGMENT == 0 {
            return None;
        }
        let [a, b] = self.advise.to_le_bytes();
        let rest = self.cluster_bits & !MapHeader::WHOLE_FRAGMENT;
        let high = u32::from_le_bytes([a, b, self.algorithms, rest]);
        Some(u64::from(self.low) | u64::from(high) << 32)
    }

    pub(super) fn has(&self, bits: u16) -> bool {
        self.advise & bits != 0
    }

    /// Returns the size of lclusters as a power of two, in bytes.
    pub(super) fn bits(&self, image: &Erofs) -> u32 {
        image.superblock.block_bits + u32::from(self.cluster_bits & MapHeader::BITS_MASK)
    }

    /// Returns the stored length of the last pcluster, if it follows the indexes.
    pub(super) fn inline_len(&self) -> Option<u64> {
        let [_, _, low, high] = self.low.to_le_bytes();
        self.has(advise::INLINE_CLUSTER)
            .then(|| u64::from(u16::from_le_bytes([low, high])))
    }

    /// Returns the low bits of the offset of the last extent in the packed inode, if it is there.
    pub(super) fn fragment(&self) -> Option<u64> {
        self.has(advise::FRAGMENT).then(|| u64::from(self.low))
    }

    /// Returns the number of extents.
    pub(super) fn extents(&self) -> u64 {
        let high = u16::from_le_bytes([self.algorithms, self.cluster_bits]);
        u64::from(self.low) | u64::from(high) << 32
    }

    /// Returns the algorithm of a type of lclusters; `None` for uncompressed ones.
    pub(super) fn algorithm(&self, kind: ClusterType) -> Result<Option<Algorithm>> {
        let number = match kind {
            ClusterType::Head1 => self.algorithms & 0x0f,
            ClusterType::Head2 => self.algorithms >> 4,
            ClusterType::Plain | ClusterType::NonHead => return Ok(None),
        };
        known(u32::from(number)).map(Some)
    }
}

/// Returns the algorithm of a number. Fails with `Unsupported` for an unknown one.
pub(super) fn known(number: u32) -> Result<Algorithm> {
    let unknown = || Error::unsupported(format!("unknown algorithm {number}"));
    Algorithm::from_number(number).ok_or_else(unknown)
}

/// An extent that is stored as a pcluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) location: PclusterLocation,
    pub(super) stored: u64,
    /// `None` for uncompressed content.
    pub(super) algorithm: Option<Algorithm>,
    pub(super) partial: bool,
    /// Uncompressed content keeps the position of each byte in its block.
    pub(super) interlaced: bool,
}

impl Extent {
    /// Returns the range at a position whose bytes are in one place.
    pub(super) fn map_at(&self, image: &Erofs, position: u64) -> Result<MappedExtent> {
        let mapped = |start, len, location| MappedExtent {
            start,
            len,
            location,
        };
        if let Some(algorithm) = self.algorithm {
            if self.stored > CLUSTER_MAX || self.len > DECODED_MAX {
                return Err(Error::corrupt(format!(
                    "a cluster of {} bytes for {} at {:#x}",
                    self.stored, self.len, self.start
                )));
            }
            let cluster = Pcluster {
                location: self.location,
                stored: self.stored,
                decoded: self.len,
                algorithm,
                partial: self.partial,
            };
            return Ok(mapped(
                self.start,
                self.len,
                ContentLocation::Pcluster(cluster),
            ));
        }
        if self.len > self.stored {
            return Err(Error::corrupt(format!(
                "{} bytes at {:#x} are stored in {}",
                self.len, self.start, self.stored
            )));
        }
        let block = image.superblock.block_size();
        // the part in the first block is at the end, and what follows is at the start
        let first = (block - self.start % block).min(self.len);
        if !self.interlaced || self.len == 0 {
            return Ok(mapped(self.start, self.len, self.location.content_at(0)));
        }
        let in_block = block - self.start % block;
        let skip = self.stored.checked_sub(in_block);
        let skip = skip.ok_or_else(|| Error::corrupt("less than a block is interlaced"))?;
        if position < self.start.saturating_add(first) {
            return Ok(mapped(self.start, first, self.location.content_at(skip)));
        }
        let start = self.start.saturating_add(first);
        Ok(mapped(start, self.len - first, self.location.content_at(0)))
    }
}

/// Returns whether a node's indexes are full ones.
pub(super) fn is_full(node: &ErofsInode) -> bool {
    node.layout == DataLayout::CompressedFull
}
