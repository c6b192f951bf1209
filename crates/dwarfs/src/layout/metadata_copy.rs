//! The layout of the section with a copy of the metadata, which upstream's readers skip.
//!
//! In: bytes of the section. Out: typed records, read and written without copies.
//! Spec: `docs/formats/dwarfs-extensions.md`, "METADATA_COPY".

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of the section.
pub const MAGIC: [u8; 8] = *b"SINTERMC";

/// The only version.
pub const VERSION: u32 = 1;

/// The start of the section. It is followed by `sections` [`MetadataCopyRow`]s, and by the sections
/// themselves, with their headers, one after the other.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct MetadataCopyHeader {
    /// `MAGIC`.
    pub magic: [u8; 8],
    /// `VERSION`.
    pub version: U32,
    /// The number of copied sections.
    pub sections: U32,
}

const _: () = assert!(size_of::<MetadataCopyHeader>() == 16);

/// A copied section.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct MetadataCopyRow {
    /// The offset of the original from the start of the image.
    pub offset: U64,
    /// The length of the original with its header.
    pub len: U64,
}

const _: () = assert!(size_of::<MetadataCopyRow>() == 16);
