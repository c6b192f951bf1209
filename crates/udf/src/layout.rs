//! Structures of ECMA-167 and UDF: tags, extents, names and times.
//!
//! In: bytes of the image. Out: plain values.
//!
//! **Invariant:** bytes past the end count as zeros; nothing here reads or allocates more than it
//! is given. ECMA-167 3rd edition, parts 1, 3 and 4; format: `docs/formats/udf.md`.

use sinterfs_model::{Error, Result, Time};

/// The bytes of a tag.
pub(crate) const TAG_LEN: usize = 16;

/// The bytes of an identifier of an entity (ECMA-167, 1/7.4).
pub(crate) const ENTITY_LEN: usize = 32;

/// Returns some bytes at an offset.
pub(crate) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first_chunk::<N>().copied().unwrap_or([0; N])
}

/// Returns a number of 8 bits.
pub(crate) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Returns a number of 16 bits.
pub(crate) fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(part(bytes, at))
}

/// Returns a number of 32 bits.
pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(part(bytes, at))
}

/// Returns a number of 64 bits.
pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(part(bytes, at))
}

/// Returns a range of bytes.
pub(crate) fn range(bytes: &[u8], at: usize, len: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.get(..len).unwrap_or(rest)
}

/// Identifiers of descriptors (ECMA-167, 3/7.2.1 and 4/7.2.1).
pub(crate) mod tag {
    pub(crate) const PRIMARY_VOLUME: u16 = 1;
    pub(crate) const ANCHOR: u16 = 2;
    pub(crate) const VOLUME_POINTER: u16 = 3;
    pub(crate) const PARTITION: u16 = 5;
    pub(crate) const LOGICAL_VOLUME: u16 = 6;
    pub(crate) const TERMINATING: u16 = 8;
    pub(crate) const FILE_SET: u16 = 256;
    pub(crate) const FILE_IDENTIFIER: u16 = 257;
    pub(crate) const ALLOCATION_EXTENT: u16 = 258;
    pub(crate) const INDIRECT_ENTRY: u16 = 259;
    pub(crate) const FILE_ENTRY: u16 = 261;
    pub(crate) const EXTENDED_FILE_ENTRY: u16 = 266;
}

/// Returns whether a tag has a right checksum.
pub(crate) fn has_right_sum(bytes: &[u8]) -> bool {
    let head: [u8; TAG_LEN] = part(bytes, 0);
    let others = head.iter().enumerate().filter(|(at, _)| *at != 4);
    let sum = others.fold(0_u8, |sum, (_, byte)| sum.wrapping_add(*byte));
    sum == byte(&head, 4)
}

/// Returns the identifier of a descriptor whose tag has a right checksum; 0 for other bytes.
pub(crate) fn tag_of(bytes: &[u8]) -> u16 {
    if has_right_sum(bytes) {
        le16(bytes, 0)
    } else {
        0
    }
}

/// Returns whether the bytes of a descriptor are those that its checksum is of. A checksum of more
/// bytes than there are is not verified.
pub(crate) fn has_right_crc(bytes: &[u8]) -> bool {
    let covered = usize::from(le16(bytes, 10));
    let covered = bytes.get(TAG_LEN..).and_then(|rest| rest.get(..covered));
    covered.is_none_or(|covered| crc(covered) == le16(bytes, 8))
}

/// Returns the identifier of a descriptor. `Corrupt` if it is damaged, or not of that block.
pub(crate) fn checked_tag(bytes: &[u8], location: u32) -> Result<u16> {
    let id = tag_of(bytes);
    if id == 0 {
        return Err(Error::corrupt(
            "not a descriptor: the checksum of its tag is wrong",
        ));
    }
    if !has_right_crc(bytes) {
        return Err(Error::corrupt("a descriptor with a wrong checksum"));
    }
    let found = le32(bytes, 12);
    if found != location {
        let what = format!("a descriptor of block {found} in block {location}");
        return Err(Error::corrupt(what));
    }
    Ok(id)
}

/// Computes the checksum of descriptors (ECMA-167, 1/7.2.6): polynomial 0x1021, from 0 on.
fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0_u16, |crc, byte| {
        let mut crc = crc.rotate_left(8) ^ u16::from(*byte);
        crc ^= (crc & 0xff) >> 4;
        crc ^= crc << 12;
        crc ^ ((crc & 0xff) << 5)
    })
}

/// An extent of the volume (ECMA-167, 3/7.1): bytes, and the first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VolumeExtent {
    pub(crate) len: u32,
    pub(crate) block: u32,
}

impl VolumeExtent {
    /// Decodes an extent.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Self {
        Self {
            len: le32(bytes, at),
            block: le32(bytes, at + 4),
        }
    }
}

/// An extent in a partition (ECMA-167, 4/14.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PartitionExtent {
    /// The kind of the extent: 0 recorded, 1 and 2 not recorded, 3 further descriptors.
    pub(crate) kind: u8,
    /// Bytes.
    pub(crate) len: u32,
    /// The first block in the partition.
    pub(crate) block: u32,
    /// The number of the partition's map.
    pub(crate) map: u16,
}

impl PartitionExtent {
    /// Decodes a long descriptor: 16 bytes.
    pub(crate) fn long(bytes: &[u8], at: usize) -> Self {
        let short = Self::short(bytes, at, 0);
        Self {
            map: le16(bytes, at + 8),
            ..short
        }
    }

    /// Decodes a short descriptor: 8 bytes, of the partition with a map.
    pub(crate) fn short(bytes: &[u8], at: usize, map: u16) -> Self {
        let [a, b, c, d] = part::<4>(bytes, at);
        Self {
            kind: d >> 6,
            len: u32::from_le_bytes([a, b, c, d & 0x3f]),
            block: le32(bytes, at + 4),
            map,
        }
    }
}

/// Decodes a name in compressed Unicode (UDF, 2.1.1) to UTF-8; `None` for another compression. Half
/// of a pair of units becomes the three bytes that UTF-8 would have for its number, so that names
/// stay different.
pub(crate) fn name(bytes: &[u8]) -> Option<Vec<u8>> {
    let (kind, rest) = match bytes.split_first() {
        None => return Some(Vec::new()),
        Some(split) => split,
    };
    let mut name = Vec::with_capacity(rest.len());
    match kind {
        8 | 254 => rest
            .iter()
            .for_each(|byte| push(&mut name, char::from(*byte))),
        16 | 255 => {
            let (units, _) = rest.as_chunks::<2>();
            let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
            for unit in char::decode_utf16(units) {
                match unit {
                    Ok(unit) => push(&mut name, unit),
                    Err(half) => {
                        let [high, low] = half.unpaired_surrogate().to_be_bytes();
                        let middle = (high & 0x0f) << 2 | low >> 6;
                        name.extend([0xe0 | high >> 4, 0x80 | middle, 0x80 | (low & 0x3f)]);
                    }
                }
            }
        }
        _ => return None,
    }
    Some(name)
}

fn push(name: &mut Vec<u8>, letter: char) {
    name.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Decodes a text in a field of fixed length, whose last byte is the length of the text.
pub(crate) fn text(bytes: &[u8], at: usize, len: usize) -> String {
    let field = range(bytes, at, len);
    let used = field.last().copied().map_or(0, usize::from);
    let name = name(range(field, 0, used.min(len - 1)));
    String::from_utf8_lossy(&name.unwrap_or_default()).into_owned()
}

/// Decodes a time (ECMA-167, 1/7.3); `None` for one that is not set or does not exist.
pub(crate) fn time(bytes: &[u8], at: usize) -> Option<Time> {
    let zone = le16(bytes, at);
    let year = i16::from_le_bytes(part(bytes, at + 2));
    let [month, day, hour, minute, second, centi, hundreds, micros] = part(bytes, at + 4);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
        return None;
    }
    // 12 bits with a sign; local times only have an offset, -2047 means none
    let offset = i64::from((zone << 4).cast_signed() >> 4);
    let is_known = zone >> 12 == 1 && (-1440..=1440).contains(&offset);
    let offset = if is_known { offset } else { 0 };
    let days = days(year.into(), month.into(), day.into());
    let minutes = (days * 24 + i64::from(hour)) * 60 + i64::from(minute) - offset;
    let micros = u32::from(centi.min(99)) * 10_000
        + u32::from(hundreds.min(99)) * 100
        + u32::from(micros.min(99));
    Some(Time {
        secs: minutes * 60 + i64::from(second.min(60)),
        nanos: micros * 1000,
    })
}

/// Counts the days from 1970 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // years begin in March, so that a leap day is the last one
    let year = if month < 3 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_8_and_16_bits_become_utf8() {
        assert_eq!(name(b"\x08a\xe9").as_deref(), Some("a\u{e9}".as_bytes()));
        assert_eq!(
            name(b"\x10\x26\x03\xd8\x3d\xde\x00").as_deref(),
            Some("\u{2603}\u{1f600}".as_bytes())
        );
        assert_eq!(
            name(b"\x10\xd8\x3d\0a").as_deref(),
            Some(&b"\xed\xa0\xbda"[..])
        );
        assert_eq!(name(b"\x09a"), None);
        assert_eq!(name(b"").as_deref(), Some(&b""[..]));
    }

    #[test]
    fn times_have_a_zone() {
        // 2024-02-29 12:30:15.123456, one hour east of Greenwich
        let stored = |zone: u16| {
            let mut bytes = zone.to_le_bytes().to_vec();
            bytes.extend(2024_i16.to_le_bytes());
            bytes.extend([2, 29, 12, 30, 15, 12, 34, 56]);
            time(&bytes, 0).map(|time| (time.secs, time.nanos))
        };
        let utc = 1_709_209_815;
        assert_eq!(stored(0x103c), Some((utc - 3600, 123_456_000)));
        assert_eq!(
            stored(0x1000 | (0x1000 - 300)),
            Some((utc + 300 * 60, 123_456_000))
        );
        assert_eq!(stored(0x1801), Some((utc, 123_456_000)));
        assert_eq!(stored(0), Some((utc, 123_456_000)));
        assert_eq!(time(&[0; 12], 0), None);
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc(&[0x70, 0x6a, 0x77]), 0x3299);
    }
}
