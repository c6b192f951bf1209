//! Maps of extents: where content is stored from any byte on, since Linux 6.15.
//!
//! In: the extents of a file. Out: what follows its inode. **Invariant:** records are in the order
//! of the file. Format: `docs/formats/erofs.md`, "Extents".

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromZeros, IntoBytes};

use super::encoded::PclusterRef;
use crate::layout::Algorithm;
use crate::layout::compressed::{ExtentRecord, MapHeader, advise};

/// A range of a file that is stored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtentEntry {
    /// Its offset in the file.
    logical: u64,
    /// Its offset in the image.
    start: u64,
    /// Stored bytes; 0 for a hole.
    stored: u32,
    /// The algorithm's number plus one; 0 if not compressed.
    format: u32,
    /// Whether the stored bytes hold more content.
    partial: bool,
}

impl ExtentEntry {
    /// Makes the entry of content that is decoded from a pcluster at an offset of the image.
    pub(super) fn new(
        logical: u64,
        start: u64,
        content: &PclusterRef,
        algorithm: Option<Algorithm>,
    ) -> Self {
        let number = |algorithm: Algorithm| u32::from(algorithm.number()) + 1;
        let algorithm = algorithm.filter(|_| !content.is_plain());
        Self {
            logical,
            start,
            stored: content.stored.min(content.whole),
            format: algorithm.map_or(0, number),
            partial: content.is_partial(),
        }
    }

    /// Makes the entry of a hole.
    pub(super) fn hole(logical: u64) -> Self {
        Self {
            logical,
            start: 0,
            stored: 0,
            format: 0,
            partial: false,
        }
    }
}

/// Appends a map of extents to an inode that begins at a multiple of the records' size.
pub(super) fn write(size: u64, extents: &[ExtentEntry], to: &mut Vec<u8>) {
    // longer records have the high bits of offsets in the file
    let is_short = u32::try_from(size).is_ok();
    let record = if is_short {
        16
    } else {
        size_of::<ExtentRecord>()
    };
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
        let low = |value: u64| U32::new((value & u64::from(u32::MAX)) as u32);
        let high = |value: u64| U32::new((value >> 32) as u32);
        let mut raw = ExtentRecord::new_zeroed();
        let partial = if extent.partial {
            ExtentRecord::PARTIAL
        } else {
            0
        };
        raw.stored =
            U32::new(extent.stored | partial | extent.format << ExtentRecord::FORMAT_SHIFT);
        raw.start = low(extent.start);
        raw.start_high = high(extent.start);
        raw.logical = low(extent.logical);
        raw.logical_high = high(extent.logical);
        let bytes = raw.as_bytes();
        to.extend_from_slice(bytes.get(..record).unwrap_or(bytes));
    }
}

/// Returns the stored bytes of extents.
pub(super) fn stored(extents: &[ExtentEntry]) -> u64 {
    extents.iter().map(|extent| u64::from(extent.stored)).sum()
}
