//! The bytes of the section of extended attributes, which upstream's readers skip.
//!
//! In: bytes of the section. Out: typed records, read and written without copies.
//! Spec: `docs/formats/dwarfs-extensions.md`.

use sinterfs_block::checksum::Xxh3;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of the section.
pub const MAGIC: [u8; 8] = *b"SINTERXA";

/// The longest name of an attribute, with its prefix, that any system knows.
pub const MAX_NAME: usize = 255;

/// Returns whether an attribute can have a name.
pub fn is_name(name: &[u8]) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !name.contains(&0)
}

/// The only version there is.
pub const VERSION: u32 = 1;

/// The start of the section. Behind it follow `inodes` times [`Row`], `sets + 1` times where in
/// the rest a set starts (32 bits each; the last one is the end), and the sets.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// `MAGIC`.
    pub magic: [u8; 8],
    /// `VERSION`.
    pub version: U32,
    /// How many inodes have attributes.
    pub inodes: U32,
    /// XXH3-64 of the decoded schema and, behind it, the decoded metadata that the inodes are of.
    pub metadata: U64,
    /// How many sets there are.
    pub sets: U32,
    /// Zero.
    pub reserved: U32,
}

const _: () = assert!(size_of::<Header>() == 32);

impl Header {
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
pub struct Row {
    /// The inode's number.
    pub inode: U32,
    /// Its set, from 0 on.
    pub set: U32,
}

const _: () = assert!(size_of::<Row>() == 8);

/// The start of an attribute in a set; behind it follow the bytes of name and value. Attributes
/// ascend by name, bytewise.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Pair {
    /// Bytes of the name with its prefix, from 1 to 255.
    pub name: U32,
    /// Bytes of the value.
    pub value: U32,
}

const _: () = assert!(size_of::<Pair>() == 8);
