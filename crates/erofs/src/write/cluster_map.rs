//! Maps of pclusters: content in whole blocks, found by an index for each lcluster, which is a
//! block of the file.
//!
//! In: the pclusters of a file in order. Out: what follows its inode: compact indexes where these
//! can express the map, else full ones. **Invariant:** no two pclusters begin in one lcluster.
//! Format: `docs/formats/erofs.md`, "Filling a pcluster".

use sinterfs_model::{Error, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::encoded::PclusterRef;
use super::limits::BLOCK;
use crate::layout::DataLayout;
use crate::layout::compressed::{ClusterIndex, ClusterType, MapHeader, advise};

mod compact;
mod index;

use index::{Head, Index};

/// Bytes of the header of a map.
const HEADER: u64 = size_of::<MapHeader>() as u64;

/// The pclusters of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClusterMap {
    heads: Vec<Head>,
    /// Bytes of content so far.
    size: u64,
    /// The offset of the last part of the content in the packed inode, if it is there.
    fragment: Option<u64>,
    /// The stored length of the last pcluster, if it follows the indexes.
    inline: Option<u32>,
    /// The number of the algorithm.
    algorithm: u8,
    /// Whether pclusters may have several blocks.
    big: bool,
    /// Whether indexes are full for any map.
    legacy: bool,
}

impl ClusterMap {
    /// Starts an empty file.
    pub(super) fn new(algorithm: u8, big: bool) -> Self {
        Self {
            heads: Vec::new(),
            size: 0,
            fragment: None,
            inline: None,
            algorithm,
            big,
            legacy: false,
        }
    }

    /// Returns the map with full indexes, which kernels before 5.4 need.
    pub(super) fn with_full_indexes(self, legacy: bool) -> Self {
        Self { legacy, ..self }
    }

    /// Adds content that is stored in blocks, compressed if these are fewer.
    pub(super) fn push(&mut self, raw: u32, block: u64, stored: u32) -> Result<()> {
        let block = u32::try_from(block).map_err(|_| Error::limit("an image of 16 TiB or more"))?;
        let kind = if raw > stored {
            ClusterType::Head1
        } else {
            ClusterType::Plain
        };
        let blocks = (u64::from(stored) / BLOCK) as u16;
        let head = Head {
            block,
            blocks,
            ..self.head(kind)
        };
        self.add(raw, head)
    }

    /// Adds content that is the first part of a pcluster's content.
    pub(super) fn push_ref(&mut self, one: &PclusterRef, block: u64) -> Result<()> {
        self.push(one.whole, block, one.stored)?;
        self.size -= u64::from(one.whole - one.raw);
        if let Some(head) = self.heads.last_mut() {
            head.partial = one.is_partial();
        }
        Ok(())
    }

    /// Returns whether the content ends with an inline tail.
    pub(super) fn has_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Returns whether compact indexes have the fields for the map.
    fn can_be_compact(&self) -> bool {
        let has_partial = self.heads.iter().any(|head| head.partial);
        let is_far = |offset| u32::try_from(offset).is_err();
        !self.legacy && !has_partial && !self.fragment.is_some_and(is_far)
    }

    /// Adds the end of the content, which is in the packed inode.
    pub(super) fn end_in_packed(&mut self, raw: u32, offset: u64) -> Result<()> {
        self.fragment = Some(offset);
        // full indexes have the high bits of the offset in place of a block
        let block = (offset >> 32) as u32;
        let head = Head {
            block,
            ..self.head(ClusterType::Head1)
        };
        self.add(raw, head)
    }

    /// Adds the end of the content, an inline tail of the given stored length.
    pub(super) fn end_inline(&mut self, raw: u32, len: u32) -> Result<()> {
        self.inline = Some(len);
        self.add(raw, self.head(ClusterType::Head1))
    }

    /// Returns a head without blocks where the content ends so far.
    fn head(&self, kind: ClusterType) -> Head {
        Head {
            start: self.size,
            block: 0,
            blocks: 0,
            kind,
            partial: false,
        }
    }

    fn add(&mut self, raw: u32, head: Head) -> Result<()> {
        let last = self.heads.last();
        if last.is_some_and(|last| last.start / BLOCK == head.start / BLOCK) {
            return Err(Error::invalid("two clusters begin in one block"));
        }
        self.heads.push(head);
        self.size += u64::from(raw);
        Ok(())
    }

    /// Returns the blocks of all pclusters.
    pub(super) fn blocks(&self) -> u64 {
        self.heads.iter().map(|head| u64::from(head.blocks)).sum()
    }

    /// Makes what follows an inode that ends at a multiple of 4, and returns it with the layout.
    pub(super) fn map(&self, from: u64) -> (DataLayout, Vec<u8>) {
        let header = from.next_multiple_of(HEADER);
        let compact = self.can_be_compact().then(|| {
            let count = self.size.div_ceil(BLOCK);
            compact::packs(&|| self.indexes(), count, header + HEADER, self.big)
        });
        let (layout, advise, indexes) = match compact.flatten() {
            Some((advise, packs)) => (DataLayout::CompressedCompact, advise, packs),
            None => (DataLayout::CompressedFull, 0, self.full()),
        };
        let mut bytes = vec![0; (header - from) as usize];
        bytes.extend_from_slice(self.header(layout, advise).as_bytes());
        bytes.extend_from_slice(&indexes);
        (layout, bytes)
    }

    fn header(&self, layout: DataLayout, mut advise: u16) -> MapHeader {
        if self.big {
            advise |= advise::BIG_CLUSTER_1;
            if layout == DataLayout::CompressedCompact {
                // kernels accept both flags or none there
                advise |= advise::BIG_CLUSTER_2;
            }
        }
        if self.fragment.is_some() {
            advise |= advise::FRAGMENT;
        }
        let mut low = (self.fragment.unwrap_or(0) & u64::from(u32::MAX)) as u32;
        if let Some(len) = self.inline {
            advise |= advise::INLINE_CLUSTER;
            low = len << 16;
        }
        MapHeader {
            low: U32::new(low),
            advise: U16::new(advise),
            algorithms: self.algorithm,
            cluster_bits: 0,
        }
    }

    /// Returns a head for where content ends in an lcluster without one: kernels would otherwise
    /// take the last pcluster for longer than it is.
    fn terminator(&self) -> Option<Head> {
        let begins = |head: &Head| head.start / BLOCK == self.size / BLOCK;
        let is_needed = !self.size.is_multiple_of(BLOCK) && !self.heads.last().is_some_and(begins);
        is_needed.then(|| self.head(ClusterType::Plain))
    }

    /// Iterates over the indexes of all lclusters.
    fn indexes(&self) -> impl Iterator<Item = Index> {
        let mut next = self
            .heads
            .iter()
            .copied()
            .chain(self.terminator())
            .peekable();
        let mut last = (0, 0);
        let end = self.size.div_ceil(BLOCK);
        (0..end).map(move |number| {
            if let Some(head) = next.next_if(|head| head.start / BLOCK == number) {
                last = (number, head.blocks);
                let offset = (head.start % BLOCK) as u16;
                return Index::Head { offset, head };
            }
            // a pcluster has `UNIT_MAX` bytes of content at most
            let back = (number - last.0) as u16;
            let forth = (next.peek().map_or(end, |head| head.start / BLOCK) - number) as u16;
            if back == 1 && self.big {
                Index::Blocks {
                    blocks: last.1,
                    forth,
                }
            } else {
                Index::Behind { back, forth }
            }
        })
    }

    /// Makes full indexes.
    fn full(&self) -> Vec<u8> {
        let mut bytes = vec![0; MapHeader::FULL_PADDING as usize];
        for index in self.indexes() {
            let distances = |back: u16, forth: u16| u32::from(back) | u32::from(forth) << 16;
            let non_head = ClusterType::NonHead.bits();
            let (advise, offset, block) = match index {
                Index::Head { offset, head } => {
                    let partial = if head.partial {
                        ClusterIndex::PARTIAL
                    } else {
                        0
                    };
                    (head.kind.bits() | partial, offset, head.block)
                }
                Index::Behind { back, forth } => (non_head, 0, distances(back, forth)),
                Index::Blocks { blocks, forth } => {
                    let back = blocks | ClusterIndex::BLOCK_COUNT;
                    (non_head, 0, distances(back, forth))
                }
            };
            let raw = ClusterIndex {
                advise: U16::new(advise),
                offset: U16::new(offset),
                block: U32::new(block),
            };
            bytes.extend_from_slice(raw.as_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(big: bool, parts: &[(u32, u64, u32)]) -> ClusterMap {
        let mut clusters = ClusterMap::new(0, big);
        for &(raw, block, stored) in parts {
            clusters.push(raw, block, stored).unwrap();
        }
        clusters
    }

    #[test]
    fn a_map_is_compact_where_blocks_are_adjacent() {
        let (layout, bytes) = map(false, &[(9000, 7, 4096), (3288, 8, 4096)]).map(32);
        assert_eq!(layout, DataLayout::CompressedCompact);
        let header = [0, 0, 0, 0, 0, 0, 0, 0];
        // a head at 0, a non-head 1 behind it, a head at 808; from block 7 on
        let first = [0x00, 0x10, 0x01, 0x20, 6, 0, 0, 0];
        let second = [0x28, 0x03, 0, 0, 7, 0, 0, 0];
        assert_eq!(bytes, [header, first, second].concat());
        let (layout, bytes) = map(false, &[(4096, 7, 4096), (9000, 9, 4096)]).map(36);
        assert_eq!(
            (layout, bytes.len()),
            (DataLayout::CompressedFull, 4 + 16 + 4 * 8)
        );
        // the content ends at 808 of a block without a head
        assert_eq!(bytes[4 + 16 + 3 * 8..], [0, 0, 0x28, 3, 0, 0, 0, 0]);
    }

    #[test]
    fn large_packs_begin_at_their_alignment() {
        let parts: Vec<_> = (0..40).map(|n| (6000, 100 + n, 4096)).collect();
        let (layout, bytes) = map(true, &parts).map(32);
        // 6 before, 48 in large packs, 5 behind
        assert_eq!(
            (layout, bytes.len()),
            (DataLayout::CompressedCompact, 8 + 24 + 3 * 32 + 24)
        );
        let advise = advise::COMPACTED_2B | advise::BIG_CLUSTER_1 | advise::BIG_CLUSTER_2;
        assert_eq!(bytes[4..6], advise.to_le_bytes());
    }

    #[test]
    fn an_offset_in_the_packed_inode_may_be_large() {
        let mut near = map(true, &[(1 << 20, 5, 8192)]);
        near.end_in_packed(5000, 0x1234).unwrap();
        let (layout, bytes) = near.map(32);
        assert_eq!(
            (layout, &bytes[..4]),
            (DataLayout::CompressedCompact, &[0x34, 0x12, 0, 0][..])
        );
        let mut far = map(true, &[(1 << 20, 5, 8192)]);
        far.end_in_packed(5000, 7 << 32 | 0x1234).unwrap();
        let (layout, bytes) = far.map(32);
        assert_eq!(
            (layout, &bytes[..4]),
            (DataLayout::CompressedFull, &[0x34, 0x12, 0, 0][..])
        );
        let head = &bytes[16 + 256 * 8..][..8];
        assert_eq!(head, [1, 0, 0, 0, 7, 0, 0, 0]);
    }

    #[test]
    fn two_clusters_cannot_begin_in_one_block() {
        let mut clusters = map(false, &[(10, 5, 4096)]);
        assert!(clusters.push(10, 6, 4096).is_err());
    }
}
