//! The layout of a record: the numbers in its header, and the offsets that follow from them.
//!
//! In: the length of a file and a percentage, or the bytes of a header. Out: a `ParityLayout`.
//! **Invariant:** the numbers of a `ParityLayout` are consistent and within the limits of the code,
//! so that no product of them overflows. Spec: `docs/formats/parity.md`, "Header".

use sinterfs_block::checksum::xxh3_64;
use sinterfs_model::{Error, Result};

/// What every copy of a header begins with.
pub const MAGIC: [u8; 8] = *b"SINTERPR";

/// The version of the format.
const VERSION: u16 = 1;

/// Bytes of a header.
pub(crate) const HEADER: usize = 64;

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

/// The unit of shards: the code works on so many bytes at once.
pub(crate) const UNIT: u64 = 64;

/// The longest file.
const MOST_BYTES: u64 = 1 << 50;

/// Where the record is in the file that it protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The offset of the frame in the file.
    pub before: u64,
    /// Bytes of the frame before the record: the header of a section.
    pub head: u32,
}

/// The numbers of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParityLayout {
    /// The length of the data in bytes: of the file without the frame.
    pub len: u64,
    /// Bytes of a shard.
    pub shard: u64,
    /// Shards of data; the last one is filled with zeros.
    pub data: u32,
    /// Shards of parity.
    pub parity: u32,
    /// Where the record is, if it is in the file itself.
    pub frame: Option<Frame>,
}

impl ParityLayout {
    /// Chooses the numbers for a file of `len` bytes and so many percent of parity. `Invalid` for
    /// an empty file and for percentages other than 1 to 100.
    pub fn new(len: u64, percent: u8, frame: Option<Frame>) -> Result<Self> {
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
            frame,
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

    /// Converts an offset in the data to one in the file.
    pub(crate) fn file_offset(&self, offset: u64) -> u64 {
        match self.frame {
            Some(frame) if offset >= frame.before => {
                offset + u64::from(frame.head) + self.record_len()
            }
            _ => offset,
        }
    }

    /// Returns the length of the file.
    pub fn file_len(&self) -> u64 {
        match self.frame {
            Some(frame) => self.len + u64::from(frame.head) + self.record_len(),
            None => self.len,
        }
    }

    /// Returns the offset of the record in its file.
    pub fn record_offset(&self) -> u64 {
        self.frame
            .map_or(0, |frame| frame.before + u64::from(frame.head))
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
        let frame = self.frame.unwrap_or(Frame { before: 0, head: 0 });
        bytes.extend_from_slice(&frame.before.to_le_bytes());
        bytes.extend_from_slice(&frame.head.to_le_bytes());
        bytes.extend_from_slice(&u32::from(self.frame.is_some()).to_le_bytes());
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
            && number(56, 8)? == xxh3_64(bytes.get(..56)?);
        if !is_one {
            return None;
        }
        let copy = usize::try_from(number(10, 2)?).ok()?;
        let frame = Frame {
            before: number(32, 8)?,
            head: u32::try_from(number(40, 4)?).ok()?,
        };
        let layout = Self {
            shard: number(12, 4)?.checked_mul(UNIT)?,
            len: number(16, 8)?,
            data: u32::try_from(number(24, 4)?).ok()?,
            parity: u32::try_from(number(28, 4)?).ok()?,
            frame: (number(44, 4)? == 1).then_some(frame),
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
            && self.frame.is_none_or(|frame| frame.before <= self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_no_change_of_it_does() {
        for (len, percent, frame) in [
            (1, 1, None),
            (
                100_000,
                5,
                Some(Frame {
                    before: 90_000,
                    head: 64,
                }),
            ),
            (1 << 50, 100, None),
        ] {
            let layout = ParityLayout::new(len, percent, frame).unwrap();
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
                let layout = ParityLayout::new(len, percent, None).unwrap();
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
    fn what_cannot_be_protected_is_refused() {
        assert!(ParityLayout::new(0, 5, None).is_err());
        assert!(ParityLayout::new(10, 0, None).is_err());
        assert!(ParityLayout::new(10, 101, None).is_err());
        assert!(ParityLayout::new(u64::MAX, 5, None).is_err());
    }
}
