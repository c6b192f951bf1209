//! Compressed content with an index for each lcluster: extents from one head to the next.
//!
//! **Invariant:** for any contents of the indexes, steps back are bounded by the position and steps
//! forward by the number of lclusters. Extents are sorted and disjoint by construction: each begins
//! in a different lcluster. Every distance back between two heads leads to the first one, so
//! readers that come from there find the same extent.

use sinterfs_model::{Error, Result};

use super::header::{CompressedHeader, Extent};
use super::indexes::{Entry, Indexes};
use crate::layout::compressed::advise;
use crate::read::device::Address;
use crate::read::erofs::Erofs;
use crate::read::mapped::{ContentLocation, MappedExtent, PclusterLocation};
use crate::read::node::ErofsInode;

/// A map of lclusters.
#[derive(Debug)]
pub(crate) struct Clusters {
    header: CompressedHeader,
    indexes: Indexes,
    /// The size of lclusters as a power of two, in bytes.
    bits: u32,
    count: u64,
}

/// The start of an extent.
struct Head {
    number: u64,
    start: u64,
    entry: Entry,
}

impl Clusters {
    pub(super) fn new(image: &Erofs, node: &ErofsInode, header: CompressedHeader) -> Result<Self> {
        let bits = header.bits(image);
        let count = node.size.div_ceil(1 << bits);
        let indexes = Indexes::new(image, node, &header, bits, count)?;
        Ok(Self {
            header,
            indexes,
            bits,
            count,
        })
    }

    /// Returns the extent at a position.
    pub(super) fn find(
        &mut self,
        image: &Erofs,
        node: &ErofsInode,
        position: u64,
    ) -> Result<MappedExtent> {
        let head = self.head(image, position)?;
        let Entry::Head {
            kind,
            block,
            partial,
            ..
        } = head.entry
        else {
            return Err(Error::corrupt("no extent begins"));
        };
        let end = self.end(image, node, &head)?;
        let (start, len) = (head.start, end.saturating_sub(head.start));
        if len == 0 || position >= end {
            return Err(Error::corrupt(format!(
                "an extent of no bytes at {start:#x}"
            )));
        }
        let is_last = end == node.size;
        if let (true, Some(low)) = (is_last, self.header.fragment()) {
            // full indexes have room for the high bits
            let high = if super::header::is_full(node) {
                block << 32
            } else {
                0
            };
            let location = ContentLocation::Packed(low | high);
            return Ok(MappedExtent {
                start,
                len,
                location,
            });
        }
        let (location, stored) = match self.header.inline_len() {
            Some(stored) if is_last => {
                let meta = self.indexes.end();
                let size = image.superblock.block_size();
                if (meta.at % size).saturating_add(stored) > size {
                    return Err(Error::corrupt("the last cluster crosses a block"));
                }
                (PclusterLocation::Inline(meta), stored)
            }
            _ => {
                let at = block.checked_mul(image.superblock.block_size());
                let at = at.ok_or_else(|| Error::corrupt(format!("a cluster in {block:#x}")))?;
                let stored = self.stored(image, &head)?;
                (PclusterLocation::Device(Address { device: 0, at }), stored)
            }
        };
        let extent = Extent {
            start,
            len,
            location,
            stored,
            algorithm: self.header.algorithm(kind)?,
            partial,
            interlaced: self.header.has(advise::INTERLACED)
                && matches!(location, PclusterLocation::Device(_)),
        };
        extent.map_at(image, position)
    }

    /// Returns the head of the extent at a position.
    fn head(&mut self, image: &Erofs, position: u64) -> Result<Head> {
        let mut number = position >> self.bits;
        // only in its own lcluster a head may be after the position
        let mut limit = position & ((1 << self.bits) - 1);
        loop {
            let entry = self.indexes.entry(image, number)?;
            let back = match entry {
                Entry::Head { offset, .. } if offset <= limit => {
                    let start = (number << self.bits).saturating_add(offset);
                    return Ok(Head {
                        number,
                        start,
                        entry,
                    });
                }
                Entry::Head { .. } => 1,
                Entry::NonHead { back, .. } => back,
            };
            let before = number.checked_sub(back).filter(|_| back > 0);
            number = before.ok_or_else(|| {
                Error::corrupt(format!("cluster {number:#x} refers {back} clusters back"))
            })?;
            limit = u64::MAX;
        }
    }

    /// Returns where an extent ends. Fails with `Corrupt` if an index on the way does not lead back
    /// to the head: a reader that comes from there would find another extent.
    fn end(&mut self, image: &Erofs, node: &ErofsInode, head: &Head) -> Result<u64> {
        for number in head.number + 1..self.count {
            match self.indexes.entry(image, number)? {
                Entry::Head { offset, .. } => {
                    let end = (number << self.bits).saturating_add(offset);
                    return Ok(end.min(node.size));
                }
                Entry::NonHead { back, .. } if (1..=number - head.number).contains(&back) => {}
                Entry::NonHead { back, .. } => {
                    return Err(Error::corrupt(format!(
                        "cluster {number:#x} refers {back} clusters back, \
                         its extent begins in {:#x}",
                        head.number
                    )));
                }
            }
        }
        Ok(node.size)
    }

    /// Returns the stored bytes of an extent: the blocks that the next index gives, otherwise one
    /// lcluster.
    fn stored(&mut self, image: &Erofs, head: &Head) -> Result<u64> {
        let next = head.number + 1;
        let blocks = if next < self.count {
            match self.indexes.entry(image, next)? {
                Entry::NonHead { blocks, .. } => blocks,
                Entry::Head { .. } => None,
            }
        } else {
            None
        };
        Ok(match blocks {
            Some(blocks) => blocks << image.superblock.block_bits,
            None => 1 << self.bits,
        })
    }
}
