//! The bytes of sections: file header, section headers v1 and v2, section and compression ids.
//!
//! In: bytes of an image. Out: typed headers, read and written without copies.
//!
//! **Invariant:** only layout: values are not validated here.
//! Format: `docs/formats/dwarfs.md`, "Sections"; upstream's dwarfs-format(5), "FILE STRUCTURE".

pub mod metadata;
pub mod metadata_copy;
pub mod xattrs;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of an image and of every section since version 2.2.
pub const MAGIC: [u8; 6] = *b"DWARFS";

/// The only major version.
pub const MAJOR: u8 = 2;

/// The newest minor version that can be read.
pub const MINOR_ACCEPTED: u8 = 6;

/// The minor version of written images (as in upstream 0.7.3 to 0.15).
pub const MINOR_WRITTEN: u8 = 5;

/// The first minor version with section headers v2 (hashes and numbers).
pub const MINOR_HEADER_V2: u8 = 2;

/// The first minor version that may have a section index.
pub const MINOR_INDEX: u8 = 4;

/// The start of an image before version 2.2, and the start of every section header v2.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct FileHeader {
    /// `MAGIC`.
    pub magic: [u8; 6],
    /// `MAJOR`.
    pub major: u8,
    /// The minor version.
    pub minor: u8,
}

const _: () = assert!(size_of::<FileHeader>() == 8);

impl FileHeader {
    /// Returns the header of images of a minor version.
    pub const fn of_minor(minor: u8) -> Self {
        Self {
            magic: MAGIC,
            major: MAJOR,
            minor,
        }
    }
}

/// The header of a section before version 2.2; the first follows the `FileHeader`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SectionHeaderV1 {
    /// The type of the section.
    pub kind: SectionType,
    /// Its encoding: the low byte of a `SectionCompression`.
    pub compression: u8,
    /// Not used.
    pub unused: u8,
    /// The stored length in bytes, without this header.
    pub length: U32,
}

const _: () = assert!(size_of::<SectionHeaderV1>() == 8);

/// The header of a section since version 2.2.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SectionHeaderV2 {
    /// Magic and version; the only bytes without a hash.
    pub file: FileHeader,
    /// SHA-512/256 of everything from `xxh3_64` to the end of the section.
    pub sha512_256: [u8; 32],
    /// XXH3-64 (seed 0) of everything from `number` to the end of the section.
    pub xxh3_64: U64,
    /// The number of the section, from 0.
    pub number: U32,
    /// The type of the section.
    pub kind: SectionType,
    /// Its encoding.
    pub compression: SectionCompression,
    /// The stored length in bytes, without this header.
    pub length: U64,
}

const _: () = assert!(size_of::<SectionHeaderV2>() == 64);

impl SectionHeaderV2 {
    /// The length of the header in bytes.
    pub const SIZE: usize = size_of::<Self>();
    /// The offset of the first byte that SHA-512/256 covers.
    pub const SHA_START: usize = 0x28;
    /// The offset of the first byte that XXH3-64 covers.
    pub const XXH3_START: usize = 0x30;
}

const _: () =
    assert!(core::mem::offset_of!(SectionHeaderV2, xxh3_64) == SectionHeaderV2::SHA_START);
const _: () =
    assert!(core::mem::offset_of!(SectionHeaderV2, number) == SectionHeaderV2::XXH3_START);

/// The type of a section; any value is valid, as readers skip unknown types.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct SectionType(pub U16);

impl SectionType {
    /// Content of files.
    pub const BLOCK: Self = Self(U16::new(0));
    /// The Frozen2 schema of the metadata, in thrift compact encoding.
    pub const METADATA_V2_SCHEMA: Self = Self(U16::new(7));
    /// The metadata, laid out by the schema.
    pub const METADATA_V2: Self = Self(U16::new(8));
    /// Types and offsets of all sections; the last section, never compressed.
    pub const SECTION_INDEX: Self = Self(U16::new(9));
    /// The runs of the tools that made the image, in thrift compact encoding; informational.
    pub const HISTORY: Self = Self(U16::new(10));
    /// Extended attributes; an extension that upstream's readers skip.
    pub const XATTRS: Self = Self(U16::new(0x5801));
    /// Digests of all bytes before it; an extension, too.
    pub const DIGEST: Self = Self(U16::new(0x5802));
    /// A signature of the digests; an extension, too.
    pub const SIGNATURE: Self = Self(U16::new(0x5803));
    /// Copies of the sections of metadata; an extension, too.
    pub const METADATA_COPY: Self = Self(U16::new(0x5804));

    /// Returns the name of the type, upstream's where it has one; `None` for an unknown one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::BLOCK => "BLOCK",
            Self::METADATA_V2_SCHEMA => "METADATA_V2_SCHEMA",
            Self::METADATA_V2 => "METADATA_V2",
            Self::SECTION_INDEX => "SECTION_INDEX",
            Self::HISTORY => "HISTORY",
            Self::XATTRS => "XATTRS",
            Self::DIGEST => "DIGEST",
            Self::SIGNATURE => "SIGNATURE",
            Self::METADATA_COPY => "METADATA_COPY",
            _ => return None,
        })
    }
}

impl std::fmt::Display for SectionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("type {}", self.0)),
        }
    }
}

impl std::fmt::Debug for SectionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// The encoding of a section's bytes; any value is valid, as only sections that are read need a
/// known one.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct SectionCompression(pub U16);

impl SectionCompression {
    /// Not encoded.
    pub const NONE: Self = Self(U16::new(0));
    /// An .xz stream.
    pub const LZMA: Self = Self(U16::new(1));
    /// One zstd frame with its content size.
    pub const ZSTD: Self = Self(U16::new(2));
    /// A 32-bit size and a raw LZ4 block.
    pub const LZ4: Self = Self(U16::new(3));
    /// Decoded as `LZ4`.
    pub const LZ4HC: Self = Self(U16::new(4));
    /// A varint size and a brotli stream, large window allowed.
    pub const BROTLI: Self = Self(U16::new(5));
    /// A varint size, a thrift header and a FLAC stream.
    pub const FLAC: Self = Self(U16::new(6));
    /// A varint size, a thrift header and a ricepp bit stream.
    pub const RICEPP: Self = Self(U16::new(7));

    /// Returns upstream's name of the encoding; `None` for an unknown one.
    pub fn name(self) -> Option<&'static str> {
        crate::framing::name(self.0.get())
    }
}

impl std::fmt::Display for SectionCompression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("compression {}", self.0)),
        }
    }
}

impl std::fmt::Debug for SectionCompression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// An entry of a `SECTION_INDEX`: 16 bits of type above 48 bits of offset.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct IndexEntry(pub U64);

impl IndexEntry {
    /// The width of the offset in bits.
    pub const OFFSET_BITS: u32 = 48;

    /// Makes an entry; `None` if the offset from the start of the image needs more than 48 bits.
    pub fn new(kind: SectionType, offset: u64) -> Option<Self> {
        (offset >> Self::OFFSET_BITS == 0).then(|| {
            Self(U64::new(
                u64::from(kind.0.get()) << Self::OFFSET_BITS | offset,
            ))
        })
    }

    /// Returns the section's type.
    #[allow(clippy::cast_possible_truncation, reason = "the shift leaves 16 bits")]
    pub fn kind(self) -> SectionType {
        SectionType(U16::new((self.0.get() >> Self::OFFSET_BITS) as u16))
    }

    /// Returns the offset of the section's header in bytes from the start of the image.
    pub fn offset(self) -> u64 {
        self.0.get() & ((1 << Self::OFFSET_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_header_is_read_field_by_field() {
        #[rustfmt::skip]
        let mut bytes = vec![
            b'D', b'W', b'A', b'R', b'F', b'S', 2, 5, // magic, version 2.5
        ];
        bytes.extend([0xaa; 32]); // SHA-512/256
        #[rustfmt::skip]
        bytes.extend([
            8, 7, 6, 5, 4, 3, 2, 1, // XXH3-64
            3, 0, 0, 0,             // section 3
            8, 0,                   // METADATA_V2
            2, 0,                   // ZSTD
            0x39, 0x30, 0, 0, 0, 0, 0, 0, // 12345 bytes
        ]);
        let header = SectionHeaderV2::read_from_bytes(&bytes).unwrap();
        assert_eq!(
            header.file,
            FileHeader {
                magic: MAGIC,
                major: 2,
                minor: 5
            }
        );
        assert_eq!(header.xxh3_64.get(), 0x0102_0304_0506_0708);
        assert_eq!(header.number.get(), 3);
        assert_eq!(header.kind, SectionType::METADATA_V2);
        assert_eq!(header.compression, SectionCompression::ZSTD);
        assert_eq!(header.length.get(), 12345);
        assert_eq!(header.as_bytes(), bytes);
    }

    #[test]
    fn index_entries_hold_type_and_offset() {
        let entry = IndexEntry::new(SectionType::HISTORY, 0x1234_5678_9abc).unwrap();
        assert_eq!(entry.0.get(), 0x000a_1234_5678_9abc);
        assert_eq!(entry.kind(), SectionType::HISTORY);
        assert_eq!(entry.offset(), 0x1234_5678_9abc);
        assert!(IndexEntry::new(SectionType::BLOCK, 1 << 48).is_none());
    }

    #[test]
    fn unknown_ids_keep_their_number() {
        assert_eq!(SectionType(U16::new(77)).to_string(), "type 77");
        assert_eq!(SectionCompression(U16::new(9)).to_string(), "compression 9");
        assert_eq!(SectionCompression::LZ4HC.to_string(), "LZ4HC");
    }
}
