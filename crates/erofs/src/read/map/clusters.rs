//! Compressed content with an index for each logical cluster: extents from heads to the next heads.
//!
//! **Invariant:** whatever the indexes say, steps back are bounded by the position and steps forth
//! by the number of logical clusters. Extents are sorted and disjoint by the form of the table:
//! each begins in a logical cluster of its own; every distance back that an extent was found by or
//! goes past leads to its head.

use sinterfs_model::{Error, Result};

use super::header::{Extent, Header};
use super::indexes::{Entry, Indexes};
use super::{Place, Run, Storage};
use crate::layout::compressed::advise;
use crate::read::Erofs;
use crate::read::device::Address;
use crate::read::inode::Node;

/// A map of logical clusters.
#[derive(Debug)]
pub(crate) struct Clusters {
    header: Header,
    indexes: Indexes,
    /// The size of logical clusters as a power of two, in bytes.
    bits: u32,
    count: u64,
}

/// Where an extent begins.
struct Head {
    number: u64,
    start: u64,
    entry: Entry,
}

impl Clusters {
    pub(super) fn new(image: &Erofs, node: &Node, header: Header) -> Result<Self> {
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

    /// Finds the run at a position.
    pub(super) fn run_at(&mut self, image: &Erofs, node: &Node, position: u64) -> Result<Run> {
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
            let place = Place::Packed(low | high);
            return Ok(Run { start, len, place });
        }
        let (storage, stored) = match self.header.inline_len() {
            Some(stored) if is_last => {
                let spot = self.indexes.end();
                let size = image.superblock.block_size();
                if (spot.at % size).saturating_add(stored) > size {
                    return Err(Error::corrupt("the last cluster crosses a block"));
                }
                (Storage::Inline(spot), stored)
            }
            _ => {
                let at = block.checked_mul(image.superblock.block_size());
                let at = at.ok_or_else(|| Error::corrupt(format!("a cluster in {block:#x}")))?;
                let stored = self.stored(image, &head)?;
                (Storage::Device(Address { device: 0, at }), stored)
            }
        };
        let extent = Extent {
            start,
            len,
            storage,
            stored,
            algorithm: self.header.algorithm(kind)?,
            partial,
            interlaced: self.header.has(advise::INTERLACED)
                && matches!(storage, Storage::Device(_)),
        };
        extent.run(image, position)
    }

    /// Finds where the extent of a position begins.
    fn head(&mut self, image: &Erofs, position: u64) -> Result<Head> {
        let mut number = position >> self.bits;
        // only in the position's own cluster a head may be behind it
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

    /// Finds where an extent ends. `Corrupt` if an index on the way does not lead back to the head:
    /// a reader that comes from there would find another extent.
    fn end(&mut self, image: &Erofs, node: &Node, head: &Head) -> Result<u64> {
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

    /// Returns how many bytes are stored for an extent: as many blocks as the next logical cluster
    /// says, or else one logical cluster.
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
