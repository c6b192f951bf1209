//! Volume descriptors.
//!
//! In: the bytes of a sector. Out: the fields of a descriptor. ECMA-119, section 8; Joliet.

use super::dates::LongDate;
use super::numbers::{le16, le32};
use super::record::DirectoryRecord;

/// The standard identifier of descriptors.
pub const STANDARD_ID: &[u8; 5] = b"CD001";

/// The type of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorKind {
    /// A boot record, such as El Torito's.
    Boot,
    /// The volume.
    Primary,
    /// The volume with other names.
    Supplementary,
    /// A partition.
    Partition,
    /// Nothing: the last descriptor.
    Terminator,
}

impl DescriptorKind {
    /// Returns the kind of the descriptor in a sector; `None` if there is none.
    pub fn of(sector: &[u8]) -> Option<Self> {
        if sector.get(1..6) != Some(&STANDARD_ID[..]) {
            return None;
        }
        match sector.first()? {
            0 => Some(Self::Boot),
            1 => Some(Self::Primary),
            2 => Some(Self::Supplementary),
            3 => Some(Self::Partition),
            255 => Some(Self::Terminator),
            _ => None,
        }
    }
}

/// The encoding of names in a descriptor's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharacterSet {
    /// Bytes.
    Bytes,
    /// UCS-2, big-endian: Joliet of a level from 1 to 3.
    Joliet(u8),
}

/// The fields of a primary or supplementary descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeFields {
    /// The version: 2 for an enhanced descriptor of ISO 9660:1999.
    pub version: u8,
    /// The encoding of names.
    pub characters: CharacterSet,
    /// The identifier of the system.
    pub system: Vec<u8>,
    /// The identifier of the volume.
    pub volume: Vec<u8>,
    /// Logical blocks of the volume.
    pub blocks: u32,
    /// Bytes of a logical block.
    pub block_size: u16,
    /// Bytes of a path table.
    pub path_table_len: u32,
    /// The logical block of the little-endian path table.
    pub path_table: u32,
    /// The record of the root: 34 bytes.
    pub root: [u8; 34],
    /// Identifiers of the volume set, the publisher, the preparer and the application.
    pub identifiers: [Vec<u8>; 4],
    /// When the volume was created and modified.
    pub dates: [LongDate; 2],
}

impl VolumeFields {
    /// Decodes a descriptor; `None` for bytes that are not a whole sector.
    pub fn decode(sector: &[u8]) -> Option<Self> {
        if sector.len() < 2048 {
            return None;
        }
        let text = |from: usize, len: usize| {
            let bytes = sector.get(from..from + len).unwrap_or_default();
            let end = bytes.iter().rposition(|byte| !matches!(byte, 0 | b' '));
            bytes
                .get(..end.map_or(0, |end| end + 1))
                .unwrap_or_default()
                .to_vec()
        };
        let date = |from: usize| {
            let bytes = sector.get(from..).and_then(|rest| rest.first_chunk::<17>());
            bytes.map_or(LongDate::NONE, |bytes| LongDate(*bytes))
        };
        let root = sector.get(156..)?.first_chunk::<34>()?;
        let characters = match sector.get(88..91)? {
            b"%/@" => CharacterSet::Joliet(1),
            b"%/C" => CharacterSet::Joliet(2),
            b"%/E" => CharacterSet::Joliet(3),
            _ => CharacterSet::Bytes,
        };
        Some(Self {
            version: *sector.get(6)?,
            characters,
            system: text(8, 32),
            volume: text(40, 32),
            blocks: le32(sector, 80),
            block_size: le16(sector, 128),
            path_table_len: le32(sector, 132),
            path_table: le32(sector, 140),
            root: *root,
            identifiers: [190, 318, 446, 574].map(|from| text(from, 128)),
            dates: [date(813), date(830)],
        })
    }

    /// Returns the record of the root.
    pub fn root(&self) -> DirectoryRecord<'_> {
        DirectoryRecord::decode(&self.root).unwrap_or_default()
    }
}
