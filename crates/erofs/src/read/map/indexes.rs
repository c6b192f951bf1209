//! Indexes of logical clusters: full ones of 8 bytes, or packs of shorter ones.
//!
//! In: the number of a logical cluster. Out: whether an extent begins in it, and where that is
//! stored.
//!
//! A pack holds 2 indexes in 8 bytes or 16 in 32: bits of one number for each, then the block that
//! the clusters of the pack begin behind. Each number has two bits of type above the offset of a head,
//! or above the distance to it; the last index of a pack has the distance forth in its place, so its
//! own distance is one more than that of the index before it.

use model::{Error, Result};
use zerocopy::FromBytes;

use super::header::{Header, is_full};
use super::window::Window;
use crate::layout::compressed::{ClusterIndex, ClusterType, MapHeader, advise};
use crate::read::Erofs;
use crate::read::inode::Node;
use crate::read::metadata::Spot;

/// What an index says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// An extent begins.
    Head {
        kind: ClusterType,
        /// Where in the logical cluster, in bytes.
        offset: u64,
        /// The block that it is stored in.
        block: u64,
        /// The extent is the first part of what the cluster holds.
        partial: bool,
    },
    /// No extent begins.
    NonHead {
        /// The distance to the head.
        back: u64,
        /// The blocks of the cluster, told by the first logical cluster behind the head.
        blocks: Option<u64>,
    },
}

/// The bytes of an index in a small pack, and in a large one.
const SMALL: u64 = 4;
const LARGE: u64 = 2;

/// Indexes of a large pack.
const LARGE_COUNT: u64 = 16;

/// The alignment of large packs in bytes.
const LARGE_ALIGN: u64 = 32;

/// The indexes of a file.
#[derive(Debug)]
pub(super) struct Indexes {
    table: Spot,
    bits: u32,
    count: u64,
    form: Form,
    window: Window,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Full,
    Packed {
        /// Indexes in small packs before the first large one.
        before: u64,
        /// Indexes in large packs.
        large: u64,
        /// Clusters may have several blocks.
        big: bool,
    },
}

impl Indexes {
    pub(super) fn new(
        image: &Erofs,
        node: &Node,
        header: &Header,
        bits: u32,
        count: u64,
    ) -> Result<Self> {
        let packed = !is_full(node);
        let table = match packed {
            true => header.end,
            false => header.end.skip(MapHeader::FULL_PADDING),
        };
        let form = match packed {
            false => Form::Full,
            true => {
                let to_align = table.align(LARGE_ALIGN).at.saturating_sub(table.at);
                let before = (to_align / SMALL).min(count);
                let large = match header.has(advise::COMPACTED_2B) {
                    true => (count - before) / LARGE_COUNT * LARGE_COUNT,
                    false => 0,
                };
                // the type is above the offset: 16 bits for each index of a small pack, 14 of a large one
                if bits > 14 || large > 0 && bits > 12 {
                    return Err(Error::unsupported(format!(
                        "packed indexes of clusters of 2^{bits} bytes"
                    )));
                }
                let big = header.has(advise::BIG_CLUSTER_1 | advise::BIG_CLUSTER_2);
                Form::Packed { before, large, big }
            }
        };
        let end = table.at.checked_add(count.saturating_mul(LARGE));
        if end.is_none_or(|end| end > image.area_len(table.area)) {
            return Err(Error::corrupt(format!(
                "{count} logical clusters have no room for their indexes"
            )));
        }
        Ok(Self {
            table,
            bits,
            count,
            form,
            window: Window::new(table),
        })
    }

    /// Tells where the indexes end.
    pub(super) fn end(&self) -> Spot {
        match self.form {
            Form::Full => {
                let size = size_of::<ClusterIndex>() as u64;
                self.table.skip(self.count.saturating_mul(size))
            }
            Form::Packed { large, .. } => {
                let small = (self.count - large).next_multiple_of(2);
                self.table.skip(small * SMALL + large * LARGE)
            }
        }
    }

    /// Reads the index of a logical cluster.
    pub(super) fn entry(&mut self, image: &Erofs, number: u64) -> Result<Entry> {
        let entry = match self.form {
            Form::Full => self.full(image, number),
            Form::Packed { before, large, big } => {
                let (first, count) = match number.checked_sub(before) {
                    Some(rest) if rest < large => {
                        (before + rest / LARGE_COUNT * LARGE_COUNT, LARGE_COUNT)
                    }
                    // both regions of small packs have an even number of indexes before them
                    _ => (number / 2 * 2, 2),
                };
                let skip = match first >= before + large {
                    true => (first - large) * SMALL + large * LARGE,
                    false if first >= before => before * SMALL + (first - before) * LARGE,
                    false => first * SMALL,
                };
                let spot = self.table.skip(skip);
                let len = if count == 2 { 8 } else { 32 };
                let bytes = self.window.get(image, spot, len)?;
                Pack {
                    bytes,
                    count,
                    bits: self.bits,
                    big,
                }
                .entry(number - first)
            }
        }?;
        match entry {
            Entry::Head { offset, .. } if offset >> self.bits != 0 => Err(Error::corrupt(format!(
                "cluster {number:#x}: an extent begins beyond it, at {offset:#x}"
            ))),
            entry => Ok(entry),
        }
    }

    fn full(&mut self, image: &Erofs, number: u64) -> Result<Entry> {
        let size = size_of::<ClusterIndex>();
        let spot = self.table.skip(number.saturating_mul(size as u64));
        let bytes = self.window.get(image, spot, size)?;
        let index = ClusterIndex::ref_from_bytes(bytes);
        let index = index.map_err(|_| Error::corrupt("an index is cut short"))?;
        let advise = index.advise.get();
        let kind = ClusterType::from_bits(advise);
        if kind != ClusterType::NonHead {
            return Ok(Entry::Head {
                kind,
                offset: u64::from(index.offset.get()),
                block: u64::from(index.block.get()),
                partial: advise & ClusterIndex::PARTIAL != 0,
            });
        }
        let [low, high, ..] = index.block.get().to_le_bytes();
        let back = u16::from_le_bytes([low, high]);
        Ok(non_head(u64::from(back)))
    }
}

/// Reads a distance back, which may be a number of blocks in truth.
fn non_head(back: u64) -> Entry {
    let flag = u64::from(ClusterIndex::BLOCK_COUNT);
    match back & flag {
        0 => Entry::NonHead { back, blocks: None },
        _ => Entry::NonHead {
            back: 1,
            blocks: Some(back & !flag),
        },
    }
}

/// A pack of indexes.
struct Pack<'a> {
    bytes: &'a [u8],
    count: u64,
    bits: u32,
    big: bool,
}

impl Pack<'_> {
    /// Reads the type of an index and the number below it.
    fn raw(&self, index: u64) -> (ClusterType, u64) {
        // 4 bytes of the pack are the block
        let width = (self.bytes.len() as u64 - 4) * 8 / self.count;
        let at = width * index;
        let (byte, shift) = (usize::try_from(at / 8).unwrap_or(0), at % 8);
        let mut word = [0; 4];
        for (to, from) in word
            .iter_mut()
            .zip(self.bytes.get(byte..).unwrap_or_default())
        {
            *to = *from;
        }
        let word = u64::from(u32::from_le_bytes(word)) >> shift;
        let low_bits = self.bits.max(12);
        let kind = u16::try_from(word >> low_bits & 3).unwrap_or(0);
        (ClusterType::from_bits(kind), word & ((1 << low_bits) - 1))
    }

    fn base(&self) -> u64 {
        let block = self.bytes.last_chunk::<4>().copied().unwrap_or_default();
        u64::from(u32::from_le_bytes(block))
    }

    fn entry(&self, index: u64) -> Result<Entry> {
        let (kind, low) = self.raw(index);
        if kind != ClusterType::NonHead {
            return Ok(Entry::Head {
                kind,
                offset: low,
                block: self.block(index),
                partial: false,
            });
        }
        let is_last = index + 1 == self.count;
        if !is_last || low & u64::from(ClusterIndex::BLOCK_COUNT) != 0 {
            return Ok(non_head(low));
        }
        // here is the distance forth; back it is one more than from the index before
        let back = match index.checked_sub(1).map(|before| self.raw(before)) {
            Some((ClusterType::NonHead, low)) => match non_head(low) {
                Entry::NonHead { back, .. } => back + 1,
                Entry::Head { .. } => 1,
            },
            _ => 1,
        };
        Ok(Entry::NonHead { back, blocks: None })
    }

    /// Counts the block of a head from the pack's: over the clusters that begin before it.
    fn block(&self, index: u64) -> u64 {
        let mut blocks = match self.big {
            true => 0,
            // the pack's block is that of the last cluster before it
            false => 1,
        };
        for before in 0..index {
            let (kind, low) = self.raw(before);
            blocks += match (kind, self.big) {
                (ClusterType::NonHead, false) => 0,
                (ClusterType::NonHead, true) => match non_head(low) {
                    Entry::NonHead {
                        blocks: Some(blocks),
                        ..
                    } => blocks,
                    _ => 0,
                },
                (_, false) => 1,
                // its own blocks are told behind it, unless it is one
                (_, true) => u64::from(!self.tells_blocks(before + 1)),
            };
        }
        self.base().saturating_add(blocks)
    }

    fn tells_blocks(&self, index: u64) -> bool {
        let (kind, low) = self.raw(index);
        kind == ClusterType::NonHead && low & u64::from(ClusterIndex::BLOCK_COUNT) != 0
    }
}
