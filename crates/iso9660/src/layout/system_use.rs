//! Entries of system use areas: SUSP (IEEE P1281), Rock Ridge (RRIP, IEEE P1282), zisofs, AAIP.
//!
//! In: a system use area. Out: its entries, one after the other, and fields of some.

use super::numbers::{both32, le32};

/// Signatures of entries.
pub mod signature {
    /// Continuation area.
    pub const CE: [u8; 2] = *b"CE";
    /// The sharing protocol is used.
    pub const SP: [u8; 2] = *b"SP";
    /// End of the area.
    pub const ST: [u8; 2] = *b"ST";
    /// Extension.
    pub const ER: [u8; 2] = *b"ER";
    /// POSIX attributes.
    pub const PX: [u8; 2] = *b"PX";
    /// Device number.
    pub const PN: [u8; 2] = *b"PN";
    /// Target of a symlink.
    pub const SL: [u8; 2] = *b"SL";
    /// Name.
    pub const NM: [u8; 2] = *b"NM";
    /// Location of a directory that was moved.
    pub const CL: [u8; 2] = *b"CL";
    /// The directory was moved.
    pub const RE: [u8; 2] = *b"RE";
    /// Times.
    pub const TF: [u8; 2] = *b"TF";
    /// Sparse file.
    pub const SF: [u8; 2] = *b"SF";
    /// Which entries there are (RRIP 1.09).
    pub const RR: [u8; 2] = *b"RR";
    /// Compressed file of zisofs.
    pub const ZF: [u8; 2] = *b"ZF";
    /// Compressed file of zisofs 2.
    pub const Z2: [u8; 2] = *b"Z2";
    /// Attributes of AAIP.
    pub const AL: [u8; 2] = *b"AL";
}

/// An entry of a system use area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemUseEntry<'a> {
    /// Two letters.
    pub signature: [u8; 2],
    /// The version of the entry.
    pub version: u8,
    /// The bytes after the version.
    pub data: &'a [u8],
}

/// Iterates over the entries of an area, up to bytes that are none.
#[derive(Debug, Clone)]
pub struct SystemUseEntries<'a>(pub &'a [u8]);

impl<'a> Iterator for SystemUseEntries<'a> {
    type Item = SystemUseEntry<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let &[a, b, len, version] = self.0.first_chunk::<4>()?;
        let (entry, rest) = self.0.split_at_checked(len.into())?;
        let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let data = entry.get(4..)?;
        if !is_letter(a) || !is_letter(b) || [a, b] == signature::ST {
            return None;
        }
        self.0 = rest;
        Some(SystemUseEntry {
            signature: [a, b],
            version,
            data,
        })
    }
}

/// Fields of a PX entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PosixFields {
    /// As `st_mode`.
    pub mode: u32,
    /// The number of names.
    pub links: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The number of the inode, which RRIP 1.10 has not.
    pub serial: Option<u32>,
}

impl PosixFields {
    /// Decodes the data of an entry; `None` if it is too short.
    pub fn decode(data: &[u8]) -> Option<Self> {
        let serial = (data.len() >= 40).then(|| le32(data, 32));
        (data.len() >= 32).then(|| Self {
            mode: le32(data, 0),
            links: le32(data, 8),
            uid: le32(data, 16),
            gid: le32(data, 24),
            serial,
        })
    }

    /// Encodes the data of an entry.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.mode, self.links, self.uid, self.gid];
        let numbers = numbers.into_iter().chain(self.serial);
        numbers.flat_map(both32).collect()
    }
}

/// Flags of NM entries.
#[derive(Debug, Clone, Copy)]
pub struct NameFlags;

impl NameFlags {
    /// The name continues in the next entry.
    pub const CONTINUE: u8 = 1;
}

/// Flags of components of SL entries.
#[derive(Debug, Clone, Copy)]
pub struct ComponentFlags;

impl ComponentFlags {
    /// The component continues in the next one.
    pub const CONTINUE: u8 = 1;
    /// `.`
    pub const CURRENT: u8 = 2;
    /// `..`
    pub const PARENT: u8 = 4;
    /// `/`
    pub const ROOT: u8 = 8;
}

/// Flags of TF entries.
#[derive(Debug, Clone, Copy)]
pub struct TimeFlags;

impl TimeFlags {
    /// The time of creation is there.
    pub const CREATION: u8 = 1;
    /// The time of modification is there.
    pub const MODIFY: u8 = 2;
    /// The time of access is there.
    pub const ACCESS: u8 = 4;
    /// The time of the change of attributes is there.
    pub const ATTRIBUTES: u8 = 8;
    /// The time of the last backup is there.
    pub const BACKUP: u8 = 0x10;
    /// The time of expiration is there.
    pub const EXPIRATION: u8 = 0x20;
    /// The time from which on the content is valid is there.
    pub const EFFECTIVE: u8 = 0x40;
    /// The dates have 17 bytes instead of 7.
    pub const LONG: u8 = 0x80;
}
