//! Directory records.
//!
//! In: the bytes of a record. Out: its fields. ECMA-119, section 9.1.

use super::dates::ShortDate;
use super::numbers::{both16, both32, le32};

/// The flags of a directory record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordFlags(pub u8);

impl RecordFlags {
    /// The record is of a directory.
    pub const DIRECTORY: u8 = 0x02;
    /// The record is of a file that belongs to the one of the same name.
    pub const ASSOCIATED: u8 = 0x04;
    /// Another record follows with the next section of the same file.
    pub const MORE: u8 = 0x80;

    /// Returns whether a flag is set.
    pub const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// The fields of a directory record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectoryRecord<'a> {
    /// Logical blocks of the extended attribute record before the content.
    pub attribute_blocks: u8,
    /// The logical block of the first byte.
    pub block: u32,
    /// Bytes of content.
    pub len: u32,
    /// When it was recorded.
    pub date: ShortDate,
    /// The type of the record.
    pub flags: RecordFlags,
    /// Logical blocks that follow each other in an interleaved file; else 0.
    pub unit: u8,
    /// Logical blocks between units.
    pub gap: u8,
    /// The identifier; one byte of 0 or 1 for the directory itself and its parent.
    pub name: &'a [u8],
    /// The system use area.
    pub system_use: &'a [u8],
}

impl<'a> DirectoryRecord<'a> {
    /// The length of a record without identifier and system use area.
    pub const HEAD: usize = 33;

    /// Decodes a record, which has all the bytes given; `None` if the identifier is cut.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let &name_len = bytes.get(32)?;
        let name_len = usize::from(name_len);
        let name = bytes.get(Self::HEAD..Self::HEAD + name_len)?;
        let system_use = Self::HEAD + name_len + usize::from(name_len.is_multiple_of(2));
        let date = bytes.get(18..25)?.first_chunk::<7>()?;
        Some(Self {
            attribute_blocks: *bytes.get(1)?,
            block: le32(bytes, 2),
            len: le32(bytes, 10),
            date: ShortDate(*date),
            flags: RecordFlags(*bytes.get(25)?),
            unit: *bytes.get(26)?,
            gap: *bytes.get(27)?,
            name,
            system_use: bytes.get(system_use..).unwrap_or_default(),
        })
    }

    /// Encodes the record, whose length is even and must be below 256.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0, self.attribute_blocks];
        bytes.extend(both32(self.block));
        bytes.extend(both32(self.len));
        bytes.extend(self.date.0);
        bytes.extend([self.flags.0, self.unit, self.gap]);
        bytes.extend(both16(1));
        bytes.push(u8::try_from(self.name.len()).unwrap_or(u8::MAX));
        bytes.extend(self.name);
        if self.name.len().is_multiple_of(2) {
            bytes.push(0);
        }
        bytes.extend(self.system_use);
        if !bytes.len().is_multiple_of(2) {
            bytes.push(0);
        }
        let len = u8::try_from(bytes.len()).unwrap_or(0);
        if let Some(first) = bytes.first_mut() {
            *first = len;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip() {
        for name in [&b"\0"[..], b"AB.TXT;1", b"ODD"] {
            let record = DirectoryRecord {
                block: 0x0102_0304,
                len: 77,
                flags: RecordFlags(RecordFlags::DIRECTORY),
                name,
                system_use: b"RR\x05\x01\x81\0",
                ..DirectoryRecord::default()
            };
            let bytes = record.encode();
            assert_eq!(usize::from(bytes[0]), bytes.len());
            assert_eq!(DirectoryRecord::decode(&bytes), Some(record));
            assert_eq!(DirectoryRecord::decode(&bytes[..32 + name.len()]), None);
        }
    }
}
