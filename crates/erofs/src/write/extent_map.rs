//! Maps of extents: where content is stored from any byte on, since Linux 6.15.
//!
//! In: extents of a file. Out: what follows its inode. **Invariant:** records are in the order of the file.
//! Format: `docs/formats/erofs.md`, "Where content is".

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromZeros, IntoBytes};

use crate::layout::compressed::{ExtentRecord, MapHeader, advise};

/// Bytes of a file that are stored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Where they begin in the file.
    pub(super) logical: u64,
    /// Where they are stored.
    pub(super) start: u64,
    /// Stored bytes; 0 for a hole.
    pub(super) stored: u32,
    /// The algorithm's number plus one; 0 if not compressed.
    pub(super) format: u32,
    /// Whether there is more content in what is stored.
    pub(super) partial: bool,
}

/// Returns the bytes from an inode's end on, which lies at a multiple of 4, to the end of the map of
/// extents; records lie at multiples of their size.
pub(super) fn len(from: u64, size: u64, count: usize) -> u64 {
    let record = record_len(size);
    let header =
        from.next_multiple_of(size_of::<MapHeader>() as u64) + size_of::<MapHeader>() as u64;
    header.next_multiple_of(record) + record * count as u64 - from
}

/// Returns the length of a record for a file of so many bytes.
fn record_len(size: u64) -> u64 {
    match u32::try_from(size) {
        Ok(_) => 16,
        Err(_) => size_of::<ExtentRecord>() as u64,
    }
}

/// Appends a map of extents to an inode that begins at a multiple of the records' size.
pub(super) fn write(size: u64, extents: &[Extent], to: &mut Vec<u8>) {
    let record = record_len(size) as usize;
    let shift = (record / 4).trailing_zeros() as u16;
    let count = extents.len() as u64;
    let [a, b, c, d, e, f, ..] = count.to_le_bytes();
    let header = MapHeader {
        low: U32::from_bytes([a, b, c, d]),
        advise: U16::new(advise::EXTENTS | shift << advise::EXTENT_SIZE_SHIFT),
        algorithms: e,
        cluster_bits: f,
    };
    to.resize(to.len().next_multiple_of(size_of::<MapHeader>()), 0);
    to.extend_from_slice(header.as_bytes());
    to.resize(to.len().next_multiple_of(record), 0);
    for extent in extents {
        let word = |value: u64, high: bool| match high {
            false => U32::new((value & u64::from(u32::MAX)) as u32),
            true => U32::new((value >> 32) as u32),
        };
        let mut raw = ExtentRecord::new_zeroed();
        let partial = if extent.partial {
            ExtentRecord::PARTIAL
        } else {
            0
        };
        raw.stored =
            U32::new(extent.stored | partial | extent.format << ExtentRecord::FORMAT_SHIFT);
        raw.start = word(extent.start, false);
        raw.start_high = word(extent.start, true);
        raw.logical = word(extent.logical, false);
        raw.logical_high = word(extent.logical, true);
        let bytes = raw.as_bytes();
        to.extend_from_slice(bytes.get(..record).unwrap_or(bytes));
    }
}

/// Returns the stored bytes of extents.
pub(super) fn stored(extents: &[Extent]) -> u64 {
    extents.iter().map(|extent| u64::from(extent.stored)).sum()
}
