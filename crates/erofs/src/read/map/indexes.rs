//! Indexes of lclusters: full ones of 8 bytes, or packs of compact ones.
//!
//! In: the number of an lcluster. Out: whether an extent begins in it, and where that is stored.
//!
//! A pack has 2 indexes in 8 bytes or 16 in 32: a number of some bits for each, then the block that
//! its pclusters follow. Each number has two bits of type above the offset of a head, or above the
//! distance to it; the last index of a pack has the distance to the next head instead, so its own
//! distance is one more than the distance of the previous index.

use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use super::header::{CompressedHeader, is_full};
use super::window::TableWindow;
use crate::layout::compressed::{ClusterIndex, ClusterType, MapHeader, advise};
use crate::read::erofs::Erofs;
use crate::read::meta_offset::MetaOffset;
use crate::read::node::ErofsInode;

/// The index of an lcluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// An extent begins.
    Head {
        kind: ClusterType,
        /// Its offset in the lcluster in bytes.
        offset: u64,
        /// The first block of its pcluster.
        block: u64,
        /// The extent is the first part of the pcluster's content.
        partial: bool,
    },
    /// No extent begins.
    NonHead {
        /// The distance to the head.
        back: u64,
        /// The blocks of the pcluster, which the first lcluster after the head records.
        blocks: Option<u64>,
    },
}

/// The bytes of an index in a small pack, and in a large one.
const SMALL: u64 = 4;
const LARGE: u64 = 2;

/// The indexes of a large pack.
const LARGE_ENTRIES: usize = 16;
const LARGE_COUNT: u64 = LARGE_ENTRIES as u64;

/// The alignment of large packs in bytes.
const LARGE_ALIGN: u64 = 32;

/// The indexes of a file.
#[derive(Debug)]
pub(super) struct Indexes {
    table: MetaOffset,
    bits: u32,
    count: u64,
    form: Form,
    window: TableWindow,
    unpacked: Unpacked,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Full,
    Packed {
        /// Indexes in small packs before the first large one.
        before: u64,
        /// Indexes in large packs.
        large: u64,
        /// Pclusters may have several blocks.
        big: bool,
    },
}

impl Indexes {
    pub(super) fn new(
        image: &Erofs,
        node: &ErofsInode,
        header: &CompressedHeader,
        bits: u32,
        count: u64,
    ) -> Result<Self> {
        let packed = !is_full(node);
        let table = if packed {
            header.end
        } else {
            header.end.skip(MapHeader::FULL_PADDING)
        };
        let form = if !packed {
            Form::Full
        } else {
            let to_align = table.align(LARGE_ALIGN).at.saturating_sub(table.at);
            let before = (to_align / SMALL).min(count);
            let large = if header.has(advise::COMPACTED_2B) {
                (count - before) / LARGE_COUNT * LARGE_COUNT
            } else {
                0
            };
            // the type is above the offset: 16 bits for each index of a small pack, 14 of a large
            // one
            if bits > 14 || large > 0 && bits > 12 {
                return Err(Error::unsupported(format!(
                    "packed indexes of clusters of 2^{bits} bytes"
                )));
            }
            let big = header.has(advise::BIG_CLUSTER_1 | advise::BIG_CLUSTER_2);
            Form::Packed { before, large, big }
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
            window: TableWindow::new(table),
            unpacked: Unpacked::empty(),
        })
    }

    /// Returns where the indexes end.
    pub(super) fn end(&self) -> MetaOffset {
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

    /// Returns the index of an lcluster.
    pub(super) fn entry(&mut self, image: &Erofs, number: u64) -> Result<Entry> {
        let entry = match (self.form, self.unpacked.get(number)) {
            (_, Some(entry)) => Ok(entry),
            (Form::Full, None) => self.full(image, number),
            (Form::Packed { before, large, big }, None) => {
                self.unpack(image, number, (before, large, big))?;
                let found = self.unpacked.get(number);
                found.ok_or_else(|| Error::corrupt(format!("lcluster {number:#x} does not exist")))
            }
        }?;
        match entry {
            Entry::Head { offset, .. } if offset >> self.bits != 0 => Err(Error::corrupt(format!(
                "cluster {number:#x}: an extent begins beyond it, at {offset:#x}"
            ))),
            entry => Ok(entry),
        }
    }

    /// Unpacks the pack of an lcluster.
    fn unpack(
        &mut self,
        image: &Erofs,
        number: u64,
        (before, large, big): (u64, u64, bool),
    ) -> Result<()> {
        let (first, count) = match number.checked_sub(before) {
            Some(rest) if rest < large => (before + rest / LARGE_COUNT * LARGE_COUNT, LARGE_COUNT),
            // both regions of small packs have an even number of indexes before them
            _ => (number / 2 * 2, 2),
        };
        let skip = if first >= before + large {
            (first - large) * SMALL + large * LARGE
        } else if first >= before {
            before * SMALL + (first - before) * LARGE
        } else {
            first * SMALL
        };
        let len = if count == 2 { 8 } else { 32 };
        let pack = Pack {
            bytes: self.window.get(image, self.table.skip(skip), len)?,
            count,
            bits: self.bits,
            big,
        };
        pack.unpack(first, &mut self.unpacked);
        Ok(())
    }

    fn full(&mut self, image: &Erofs, number: u64) -> Result<Entry> {
        let size = size_of::<ClusterIndex>();
        let meta = self.table.skip(number.saturating_mul(size as u64));
        let bytes = self.window.get(image, meta, size)?;
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

/// Decodes a distance back, which may be a number of blocks.
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

/// The indexes of the last pack that was read, which a walk along a file needs one after the other.
#[derive(Debug)]
struct Unpacked {
    first: u64,
    count: u64,
    entries: [Entry; LARGE_ENTRIES],
}

impl Unpacked {
    fn empty() -> Self {
        Self {
            first: 0,
            count: 0,
            entries: [PLACEHOLDER; LARGE_ENTRIES],
        }
    }

    /// Returns the index of an lcluster if it is in the pack.
    fn get(&self, number: u64) -> Option<Entry> {
        let index = number.checked_sub(self.first)?;
        if index < self.count {
            self.entries.get(usize::try_from(index).ok()?).copied()
        } else {
            None
        }
    }
}

/// A placeholder where nothing has been unpacked.
const PLACEHOLDER: Entry = Entry::NonHead {
    back: 0,
    blocks: None,
};

impl Pack<'_> {
    /// Returns the type of an index and the number below it.
    fn raw(&self, index: u64, width: u64) -> (ClusterType, u64) {
        let at = width * index;
        let (byte, shift) = (usize::try_from(at / 8).unwrap_or(0), at % 8);
        // the last 4 bytes of a pack are the block, so at least 4 bytes follow every index
        let word = self.bytes.get(byte..).and_then(<[u8]>::first_chunk::<4>);
        let word = u64::from(u32::from_le_bytes(word.copied().unwrap_or_default())) >> shift;
        let low_bits = self.bits.max(12);
        let kind = u16::try_from(word >> low_bits & 3).unwrap_or(0);
        (ClusterType::from_bits(kind), word & ((1 << low_bits) - 1))
    }

    fn base(&self) -> u64 {
        let block = self.bytes.last_chunk::<4>().copied().unwrap_or_default();
        u64::from(u32::from_le_bytes(block))
    }

    /// Unpacks all indexes. The block of a head is the pack's, plus the blocks of the pclusters
    /// that begin before it.
    fn unpack(&self, first: u64, unpacked: &mut Unpacked) {
        let width = (self.bytes.len() as u64).saturating_sub(4) * 8 / self.count;
        let mut block = if self.big {
            self.base()
        } else {
            self.base() + 1
        };
        let mut before = None;
        let mut this = self.raw(0, width);
        for (index, to) in (0..self.count).zip(&mut unpacked.entries) {
            let next = (index + 1 < self.count).then(|| self.raw(index + 1, width));
            *to = entry(before, this, next, block);
            block += match (*to, self.big) {
                (Entry::NonHead { blocks, .. }, true) => blocks.unwrap_or(0),
                (Entry::NonHead { .. }, false) => 0,
                // the next index has its number of blocks, unless another head is there
                (Entry::Head { .. }, true) => u64::from(!next.is_some_and(tells_blocks)),
                (Entry::Head { .. }, false) => 1,
            };
            before = Some(this);
            this = next.unwrap_or(this);
        }
        (unpacked.first, unpacked.count) = (first, self.count);
    }
}

/// Decodes an index of a pack from its type and number and those beside it; `block` is for a head.
fn entry(
    before: Option<(ClusterType, u64)>,
    (kind, low): (ClusterType, u64),
    next: Option<(ClusterType, u64)>,
    block: u64,
) -> Entry {
    if kind != ClusterType::NonHead {
        return Entry::Head {
            kind,
            offset: low,
            block,
            partial: false,
        };
    }
    if next.is_some() || tells_blocks((kind, low)) {
        return non_head(low);
    }
    // this is the distance to the next head; the distance back is one more than in the index before
    let back = match before {
        Some((ClusterType::NonHead, low)) => match non_head(low) {
            Entry::NonHead { back, .. } => back + 1,
            Entry::Head { .. } => 1,
        },
        _ => 1,
    };
    Entry::NonHead { back, blocks: None }
}

fn tells_blocks((kind, low): (ClusterType, u64)) -> bool {
    kind == ClusterType::NonHead && low & u64::from(ClusterIndex::BLOCK_COUNT) != 0
}
