//! The layout of the section of extended attributes, which upstream's readers skip.
//!
//! In: bytes of the section. Out: typed records, read and written without copies.
//! Spec: `docs/formats/dwarfs-extensions.md`.

use sinterfs_block::checksum::Xxh3;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of the section.
pub const MAGIC: [u8; 8] = *b"SINTERXA";

/// The longest name of an attribute on any system, with its prefix, in bytes.
pub const MAX_NAME: usize = 255;

/// Returns whether a name is valid for an attribute.
pub fn is_name(name: &[u8]) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !name.contains(&0)
}

/// The only version.
pub const VERSION: u32 = 1;

/// The start of the section. It is followed by `inodes` [`XattrTableRow`]s, `sets + 1` offsets of
/// sets (32 bits each; the last is the end), and the sets.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrTableHeader {
    /// `MAGIC`.
    pub magic: [u8; 8],
    /// `VERSION`.
    pub version: U32,
    /// The number of inodes with attributes.
    pub inodes: U32,
    /// XXH3-64 of the decoded schema followed by the decoded metadata that the section belongs to.
    pub metadata: U64,
    /// The number of sets.
    pub sets: U32,
    /// Zero.
    pub reserved: U32,
}

const _: () = assert!(size_of::<XattrTableHeader>() == 32);

impl XattrTableHeader {
    /// Hashes the decoded schema and the decoded metadata.
    pub fn hash(schema: &[u8], metadata: &[u8]) -> u64 {
        let mut hash = Xxh3::default();
        hash.update(schema);
        hash.update(metadata);
        hash.digest()
    }
}

/// An inode with attributes; rows ascend by inode.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrTableRow {
    /// The inode's number.
    pub inode: U32,
    /// Its set, from 0 on.
    pub set: U32,
}

const _: () = assert!(size_of::<XattrTableRow>() == 8);

/// The start of an attribute in a set; the bytes of name and value follow. Attributes ascend
/// bytewise by name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Pair {
    /// The length of the name with its prefix in bytes, 1 to 255.
    pub name: U32,
    /// The length of the value in bytes.
    pub value: U32,
}

const _: () = assert!(size_of::<Pair>() == 8);
