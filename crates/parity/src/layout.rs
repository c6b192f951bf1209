//! The layout of a record: the numbers in its header, and the offsets that follow from them.
//!
//! In: the length of a file and a percentage, or the bytes of a header. Out: a `ParityLayout`.
//! **Invariant:** the numbers of a `ParityLayout` are consistent and within the limits of the code,
//! so that no product of them overflows. Spec: `docs/formats/parity.md`, "Header".

use sinterfs_block::checksum::xxh3_64;
use sinterfs_model::{Error, Result};

/// The first bytes of every copy of a header.
pub const MAGIC: [u8; 8] = *b"SINTERPR";

/// The version of the format.
const VERSION: u16 = 1;

/// Bytes of a header.
pub(crate) const HEADER: usize = 64;

/// Bytes of a header that are zero.
const RESERVED: usize = 16;

/// The copies of header and table in a record.
pub(crate) const COPIES: usize = 3;

/// Checksums in a group of the table.
pub(crate) const GROUP: usize = 16;

/// Bytes of a group: its checksums and its own.
pub(crate) const GROUP_BYTES: usize = GROUP * 8 + 8;

/// The most shards of data in a record that is written.
const MOST_WRITTEN: u64 = 16_384;

/// The most shards of either sort in a record that is read.
const MOST_READ: u32 = 32_768;

/// The smallest shard that is written, so that checksums take a few percent of it.
const LEAST_SHARD: u64 = 1024;

/// The unit of shards: the number of bytes that the code processes at once.
pub(crate) const UNIT: u64 = 64;

/// The longest file.
const MOST_BYTES: u64 = 1 << 50;

/// The numbers of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParityLayout {
    /// The length of the file in bytes.
    pub len: u64,
    /// Bytes of a shard.
    pub shard: u64,
    /// Shards of data; the last one is filled with zeros.
    pub data: u32,
    /// Shards of parity.
    pub parity: u32,
}

impl ParityLayout {
    /// Chooses the numbers for a file of `len` bytes and the given percentage of parity. `Invalid`
    /// for an empty file and for percentages other than 1 to 100.
    pub fn new(len: u64, percent: u8) -> Result<Self> {
        if len == 0 {
            return Err(Error::invalid("an empty file needs no parity"));
        }
        if len > MOST_BYTES {
            return Err(Error::limit(format!("{len} bytes; parity is for 2^50")));
        }
        if !(1..=100).contains(&percent) {
            return Err(Error::invalid(format!(
                "{percent} % of parity, expected 1 to 100"
            )));
        }
        let shard = len.div_ceil(MOST_WRITTEN).next_multiple_of(UNIT);
        let shard = shard.max(LEAST_SHARD);
        let data = len.div_ceil(shard);
        let parity = (data * u64::from(percent)).div_ceil(100);
        let count = |value| u32::try_from(value).map_err(|_| Error::limit("too many shards"));
        Ok(Self {
            len,
            shard,
            data: count(data)?,
            parity: count(parity)?,
        })
    }

    /// Returns the number of shards of both sorts.
    pub(crate) fn shards(&self) -> usize {
        self.data as usize + self.parity as usize
    }

    /// Returns the number of groups in a table.
    pub(crate) fn groups(&self) -> usize {
        self.shards().div_ceil(GROUP)
    }

    /// Returns the bytes of a copy of header and table.
    pub(crate) fn copy_len(&self) -> u64 {
        (HEADER + self.groups() * GROUP_BYTES) as u64
    }

    /// Returns the length of the record in bytes.
    pub fn record_len(&self) -> u64 {
        self.copy_len() * COPIES as u64 + u64::from(self.parity) * self.shard
    }

    /// Returns the offset of a copy of header and table in the record.
    pub(crate) fn copy_offset(&self, copy: usize) -> u64 {
        let shards = match copy {
            0 => 0,
            1 => self.parity.div_ceil(2),
            _ => self.parity,
        };
        self.copy_len() * copy as u64 + u64::from(shards) * self.shard
    }

    /// Returns the offset of a shard of parity in the record.
    pub(crate) fn parity_offset(&self, index: u32) -> u64 {
        let copies = if index < self.parity.div_ceil(2) {
            1
        } else {
            2
        };
        self.copy_len() * copies + u64::from(index) * self.shard
    }

    /// Returns the offset of a shard in the data, and its length there.
    pub(crate) fn data_range(&self, index: u32) -> (u64, u64) {
        let start = u64::from(index) * self.shard;
        (start, self.len.saturating_sub(start).min(self.shard))
    }

    /// Writes the header of a copy. `set` is the checksum of all checksums.
    pub(crate) fn header(&self, copy: usize, set: u64) -> [u8; HEADER] {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&u16::try_from(copy).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(self.shard / UNIT).unwrap_or(0).to_le_bytes());
        bytes.extend_from_slice(&self.len.to_le_bytes());
        bytes.extend_from_slice(&self.data.to_le_bytes());
        bytes.extend_from_slice(&self.parity.to_le_bytes());
        bytes.extend_from_slice(&[0; RESERVED]);
        bytes.extend_from_slice(&set.to_le_bytes());
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes.try_into().unwrap_or([0; HEADER])
    }

    /// Reads a header; `None` if these bytes are none. Returns the number of the copy and the
    /// checksum of all checksums, too.
    pub(crate) fn parse(bytes: &[u8; HEADER]) -> Option<(Self, usize, u64)> {
        let number = |at: usize, len: usize| -> Option<u64> {
            let mut number = [0; 8];
            number
                .get_mut(..len)?
                .copy_from_slice(bytes.get(at..at + len)?);
            Some(u64::from_le_bytes(number))
        };
        let is_one = bytes.starts_with(&MAGIC)
            && number(8, 2)? == u64::from(VERSION)
            && bytes.get(32..32 + RESERVED)? == [0; RESERVED]
            && number(56, 8)? == xxh3_64(bytes.get(..56)?);
        if !is_one {
            return None;
        }
        let copy = usize::try_from(number(10, 2)?).ok()?;
        let layout = Self {
            shard: number(12, 4)?.checked_mul(UNIT)?,
            len: number(16, 8)?,
            data: u32::try_from(number(24, 4)?).ok()?,
            parity: u32::try_from(number(28, 4)?).ok()?,
        };
        (copy < COPIES && layout.is_sound()).then_some((layout, copy, number(48, 8)?))
    }

    /// Returns whether the numbers are consistent and within limits.
    fn is_sound(&self) -> bool {
        (1..=MOST_BYTES).contains(&self.len)
            && self.shard > 0
            && self.len.div_ceil(self.shard) == u64::from(self.data)
            && (1..=MOST_READ).contains(&self.data)
            && (1..=self.data).contains(&self.parity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_no_change_of_it_does() {
        for (len, percent) in [(1, 1), (100_000, 5), (1 << 50, 100)] {
            let layout = ParityLayout::new(len, percent).unwrap();
            for copy in 0..COPIES {
                let bytes = layout.header(copy, 77);
                assert_eq!(ParityLayout::parse(&bytes), Some((layout, copy, 77)));
                for at in 0..HEADER {
                    let mut other = bytes;
                    other[at] ^= 1;
                    assert_eq!(ParityLayout::parse(&other), None, "byte {at}");
                }
            }
        }
    }

    #[test]
    fn parts_of_a_record_follow_each_other() {
        for len in [1, 1024, 5000, 1 << 20, 1 << 30] {
            for percent in [1, 5, 50, 100] {
                let layout = ParityLayout::new(len, percent).unwrap();
                let mut parts: Vec<(u64, u64)> = (0..COPIES)
                    .map(|copy| (layout.copy_offset(copy), layout.copy_len()))
                    .collect();
                parts.extend((0..layout.parity).map(|i| (layout.parity_offset(i), layout.shard)));
                parts.sort_unstable();
                let mut at = 0;
                for (start, len) in parts {
                    assert_eq!(start, at);
                    at += len;
                }
                assert_eq!(at, layout.record_len());
                assert!(layout.data <= 16_384);
                assert!(layout.is_sound());
            }
        }
    }

    #[test]
    fn refuses_files_that_cannot_be_protected() {
        assert!(ParityLayout::new(0, 5).is_err());
        assert!(ParityLayout::new(10, 0).is_err());
        assert!(ParityLayout::new(10, 101).is_err());
        assert!(ParityLayout::new(u64::MAX, 5).is_err());
    }
}
