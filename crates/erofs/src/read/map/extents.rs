//! Compressed content as extents of any length, stored from any byte on (since Linux 6.15).
//!
//! Records of 16 or 32 bytes have the position of their extents in the file, and are found by
//! binary search. With shorter ones extents are as long as lclusters; the shortest have only
//! lengths, after the address of the first extent.
//!
//! **Invariant:** the records of a searched table begin at 0, ascend, and stay below the size: any
//! other table has no map. A binary search then finds the record that a walk through all of them
//! finds, for every position and every reader.

use sinterfs_model::{Error, Result};
use zerocopy::{FromZeros, IntoBytes};

use super::header::{CompressedHeader, Extent, known};
use super::window::TableWindow;
use crate::layout::compressed::{ExtentRecord, advise};
use crate::read::device::Address;
use crate::read::erofs::Erofs;
use crate::read::mapped::{ContentLocation, MappedExtent, PclusterLocation};
use crate::read::meta_offset::MetaOffset;
use crate::read::node::ErofsInode;

/// The shortest records that have positions, in bytes.
const SORTED: u64 = 16;

/// The longest table in bytes that is checked for each map, as the window then holds it anyway; for
/// longer ones the result is kept.
const SHORT: u64 = 512;

/// Bytes of a record without an address.
const LENGTHS: u64 = 4;

/// Bytes of the address of the first extent.
const ADDRESS: usize = size_of::<u64>();

/// A table of extents.
#[derive(Debug)]
pub(crate) struct Extents {
    header: CompressedHeader,
    table: MetaOffset,
    /// The length of a record in bytes.
    size: u64,
    count: u64,
    /// The size of lclusters as a power of two, in bytes; for short records.
    bits: u32,
    window: TableWindow,
    /// The number of a record without an address, and the address of its extent, to continue from.
    last: (u64, u64),
}

/// A record as numbers.
#[derive(Debug, Clone, Copy)]
struct Record {
    start: u64,
    end: u64,
    stored: u32,
    at: u64,
    is_last: bool,
}

impl Extents {
    pub(super) fn new(image: &Erofs, node: &ErofsInode, header: CompressedHeader) -> Result<Self> {
        let shift = header.advise >> advise::EXTENT_SIZE_SHIFT & advise::EXTENT_SIZE_MASK;
        let size = LENGTHS << shift;
        let table = header.end.align(size);
        let bits = header.bits(image);
        let count = if size < SORTED {
            node.size.div_ceil(1 << bits)
        } else {
            header.extents()
        };
        let end = table.at.checked_add(count.saturating_mul(size));
        if end.is_none_or(|end| end > image.area_len(table.area)) {
            return Err(Error::corrupt(format!("{count} extents have no room")));
        }
        let mut extents = Self {
            header,
            table,
            size,
            count,
            bits,
            window: TableWindow::new(table),
            last: (u64::MAX, 0),
        };
        if size >= SORTED {
            extents.expect_order(image, node)?;
        }
        Ok(extents)
    }

    /// Fails with `Corrupt` if an extent does not begin after the previous one.
    fn expect_order(&mut self, image: &Erofs, node: &ErofsInode) -> Result<()> {
        if self.count.saturating_mul(self.size) <= SHORT {
            return self.check_order(image, node);
        }
        let in_order = &image.checked_tables;
        in_order.ensure(node.nid, || self.check_order(image, node))
    }

    /// Checks all records.
    fn check_order(&mut self, image: &Erofs, node: &ErofsInode) -> Result<()> {
        let mut before = None;
        for number in 0..self.count {
            let start = start_of(&self.record(image, self.meta(number))?);
            let is_behind = before.map_or(start == 0, |before| before < start);
            if !is_behind || start >= node.size {
                return Err(Error::corrupt(match before {
                    None => format!("the first extent begins at {start:#x}"),
                    Some(_) if is_behind => format!(
                        "extent {number} begins at {start:#x}, the content has {:#x} bytes",
                        node.size
                    ),
                    Some(before) => format!(
                        "extents are not in order: {number} begins at {start:#x}, \
                         the one before it at {before:#x}"
                    ),
                }));
            }
            before = Some(start);
        }
        Ok(())
    }

    /// Returns where a record of a searched table is.
    fn meta(&self, number: u64) -> MetaOffset {
        self.table.skip(number.saturating_mul(self.size))
    }

    /// Returns the extent at a position.
    pub(super) fn find(
        &mut self,
        image: &Erofs,
        node: &ErofsInode,
        position: u64,
    ) -> Result<MappedExtent> {
        let record = match self.size {
            LENGTHS => self.by_lengths(image, node, position),
            size if size < SORTED => self.by_number(image, node, position),
            _ => self.by_halving(image, node, position),
        }?;
        let (start, len) = (record.start, record.end.saturating_sub(record.start));
        if len == 0 || position < start || position >= record.end {
            return Err(Error::corrupt(format!("no extent at {position:#x}")));
        }
        if record.is_last && self.header.has(advise::FRAGMENT) {
            let high = match self.size {
                LENGTHS => 0,
                _ => record.at << 32,
            };
            let location = ContentLocation::Packed(u64::from(record.stored) | high);
            return Ok(MappedExtent {
                start,
                len,
                location,
            });
        }
        let stored = u64::from(record.stored & ExtentRecord::LENGTH_MASK);
        if stored == 0 {
            let location = ContentLocation::Hole;
            return Ok(MappedExtent {
                start,
                len,
                location,
            });
        }
        let algorithm = match record.stored >> ExtentRecord::FORMAT_SHIFT {
            0 => None,
            format => Some(known(format - 1)?),
        };
        let in_blocks = (record.at | stored) % image.superblock.block_size() == 0;
        let extent = Extent {
            start,
            len,
            location: PclusterLocation::Device(Address {
                device: 0,
                at: record.at,
            }),
            stored,
            algorithm,
            partial: record.stored & ExtentRecord::PARTIAL != 0,
            interlaced: self.header.has(advise::INTERLACED) && in_blocks,
        };
        extent.map_at(image, position)
    }

    /// Reads a record; fields beyond its length are zero.
    fn record(&mut self, image: &Erofs, start: MetaOffset) -> Result<ExtentRecord> {
        let len = usize::try_from(self.size).unwrap_or(0);
        let mut record = ExtentRecord::new_zeroed();
        let bytes = self.window.get(image, start, len)?;
        for (to, from) in record.as_mut_bytes().iter_mut().zip(bytes) {
            *to = *from;
        }
        Ok(record)
    }

    /// Returns the record of a position by adding the lengths of all before it, from the last one
    /// on.
    fn by_lengths(&mut self, image: &Erofs, node: &ErofsInode, position: u64) -> Result<Record> {
        let wanted = position >> self.bits;
        let (mut number, mut at) = self.last;
        if number > wanted {
            let mut first = [0; ADDRESS];
            image.read_metadata(self.table, &mut first)?;
            (number, at) = (0, u64::from_le_bytes(first));
        }
        let records = self.table.skip(ADDRESS as u64);
        while number < wanted {
            let record = self.record(image, records.skip(number * self.size))?;
            let stored = record.stored.get() & ExtentRecord::LENGTH_MASK;
            at = at.saturating_add(u64::from(stored));
            number += 1;
        }
        self.last = (number, at);
        let record = self.record(image, records.skip(wanted * self.size))?;
        Ok(self.cluster(node, wanted, record.stored.get(), at))
    }

    /// Returns the record of a position by its number.
    fn by_number(&mut self, image: &Erofs, node: &ErofsInode, position: u64) -> Result<Record> {
        let number = position >> self.bits;
        let record = self.record(image, self.table.skip(number * self.size))?;
        let at = u64::from(record.start.get());
        Ok(self.cluster(node, number, record.stored.get(), at))
    }

    fn cluster(&self, node: &ErofsInode, number: u64, stored: u32, at: u64) -> Record {
        let start = number << self.bits;
        let end = start.saturating_add(1 << self.bits);
        Record {
            start,
            end: end.min(node.size),
            stored,
            at,
            is_last: end >= node.size,
        }
    }

    /// Returns the last record that begins at or before a position.
    fn by_halving(&mut self, image: &Erofs, node: &ErofsInode, position: u64) -> Result<Record> {
        let (mut low, mut high) = (0, self.count);
        let (mut found, mut end) = (None, node.size);
        while low < high {
            let middle = low.midpoint(high);
            let record = self.record(image, self.meta(middle))?;
            let start = start_of(&record);
            if start > position {
                (high, end) = (middle, start.min(node.size));
            } else {
                low = middle + 1;
                found = Some((start, record));
            }
        }
        let (start, record) =
            found.ok_or_else(|| Error::corrupt(format!("no extent at {position:#x}")))?;
        Ok(Record {
            start,
            end,
            stored: record.stored.get(),
            at: u64::from(record.start.get()) | u64::from(record.start_high.get()) << 32,
            is_last: low >= self.count,
        })
    }
}

/// Returns the position of a record's extent in the file.
fn start_of(record: &ExtentRecord) -> u64 {
    u64::from(record.logical.get()) | u64::from(record.logical_high.get()) << 32
}
