//! The stored form of digests: a header, then the hashes of all leaves, then a table that the
//! format of the image interprets (`docs/formats/digest.md`).

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of the stored form.
pub(super) const MAGIC: [u8; 8] = *b"SINTERDG";

/// The version without a table.
pub(super) const VERSION: u32 = 1;

/// The version with a table.
pub(super) const WITH_TABLE: u32 = 2;

/// The only hash: SHA-256.
pub(super) const SHA_256: u16 = 1;

/// Accepted sizes of a leaf, as powers of two.
pub(super) const LEAF_BITS: std::ops::RangeInclusive<u16> = 12..=24;

/// The size of a leaf in new digests, as a power of two: 64 KiB.
pub(super) const NEW_LEAF_BITS: u16 = 16;

/// The prefix of the bytes of a leaf for hashing.
pub(super) const LEAF_PREFIX: [u8; 1] = [0];

/// The prefix of the stored form for hashing.
pub(super) const ROOT_PREFIX: [u8; 1] = [1];

pub(super) type Hash = [u8; 32];

/// The start of the stored form; the hashes of all leaves follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 8],
    pub(super) version: U32,
    pub(super) hash: U16,
    pub(super) leaf_bits: U16,
    pub(super) covered: U64,
    /// Entries of the table after the hashes, 8 bytes each; 0 in version 1.
    pub(super) entries: U64,
}

const _: () = assert!(size_of::<Header>() == 32);
