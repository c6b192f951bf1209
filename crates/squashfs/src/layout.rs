//! The bytes of SquashFS 4.0: superblock, inodes, directories, tables, words and flags.
//!
//! In: bytes of an image. Out: typed records, read and written without copies.
//!
//! **Invariant:** only layout: nothing here decides whether a value makes sense.
//! Format: `docs/formats/squashfs.md`.

pub mod inode;
pub mod options;

use zerocopy::little_endian::{I16, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first four bytes of an image since 4.0, and of older ones in little-endian order.
pub const MAGIC: u32 = 0x7371_7368;

/// The major version of what is written.
pub const MAJOR: u16 = 4;

/// The minor version of what is written.
pub const MINOR: u16 = 0;

/// The decoded bytes of a metadata block; only the last one of a table has fewer.
pub const METADATA_SIZE: usize = 8192;

/// The smallest block size in bytes.
pub const BLOCK_SIZE_MIN: u32 = 4096;

/// The largest block size in bytes.
pub const BLOCK_SIZE_MAX: u32 = 1 << 20;

/// A table's position that says there is no such table.
pub const NO_TABLE: u64 = u64::MAX;

/// A fragment's index that says the file has none.
pub const NO_FRAGMENT: u32 = u32::MAX;

/// An inode's index of extended attributes that says it has none.
pub const NO_XATTR: u32 = u32::MAX;

/// The most entries that follow one directory header.
pub const DIRENTS_PER_HEADER: usize = 256;

/// The longest name in bytes that any system takes; entries could tell one more.
pub const NAME_MAX: usize = 255;

/// The bytes that a directory's size counts beyond its listing (as if for `.` and `..`).
pub const DIRECTORY_SIZE_EXTRA: u32 = 3;

/// The start of every image.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Superblock {
    /// `MAGIC`.
    pub magic: U32,
    /// The number of inodes.
    pub inodes: U32,
    /// When the image was made: seconds since 1970.
    pub made: U32,
    /// Bytes of a block: a power of two.
    pub block_size: U32,
    /// The number of fragment blocks.
    pub fragments: U32,
    /// How everything is encoded that is not stored as it is.
    pub compressor: Compressor,
    /// The logarithm of `block_size`.
    pub block_log: U16,
    /// What the image has and lacks.
    pub flags: Flags,
    /// The number of distinct owners and groups.
    pub ids: U16,
    /// `MAJOR`.
    pub major: U16,
    /// `MINOR`.
    pub minor: U16,
    /// The root directory's inode.
    pub root: MetaRef,
    /// Bytes of the image without padding.
    pub bytes_used: U64,
    /// Where the positions of the id table's blocks stand.
    pub id_table: U64,
    /// Where the `XattrTable` stands, or `NO_TABLE`.
    pub xattr_table: U64,
    /// Where the inodes start.
    pub inode_table: U64,
    /// Where the directory listings start.
    pub directory_table: U64,
    /// Where the positions of the fragment table's blocks stand, or `NO_TABLE`.
    pub fragment_table: U64,
    /// Where the positions of the export table's blocks stand, or `NO_TABLE`.
    pub export_table: U64,
}

const _: () = assert!(size_of::<Superblock>() == 96);

/// The codec of an image; open, because an image may use one that only another program knows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct Compressor(pub U16);

impl Compressor {
    /// Deflate in a zlib stream.
    pub const GZIP: Self = Self(U16::new(1));
    /// LZMA with the header of `.lzma` files; no kernel reads it.
    pub const LZMA: Self = Self(U16::new(2));
    /// LZO1X without any header.
    pub const LZO: Self = Self(U16::new(3));
    /// An xz stream.
    pub const XZ: Self = Self(U16::new(4));
    /// An LZ4 block.
    pub const LZ4: Self = Self(U16::new(5));
    /// A zstd frame.
    pub const ZSTD: Self = Self(U16::new(6));

    /// Returns the name that `mksquashfs -comp` has for it; `None` for an unknown one.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0.get() {
            1 => "gzip",
            2 => "lzma",
            3 => "lzo",
            4 => "xz",
            5 => "lz4",
            6 => "zstd",
            _ => return None,
        })
    }
}

/// Bits of the superblock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct Flags(pub U16);

impl Flags {
    /// Inodes and directories are not compressed.
    pub const RAW_INODES: u16 = 0x1;
    /// Blocks of files are not compressed.
    pub const RAW_DATA: u16 = 0x2;
    /// Not used since 3.0.
    pub const CHECK: u16 = 0x4;
    /// Fragment blocks are not compressed.
    pub const RAW_FRAGMENTS: u16 = 0x8;
    /// There are no fragments.
    pub const NO_FRAGMENTS: u16 = 0x10;
    /// Files larger than a block have their tails in fragments, too.
    pub const ALWAYS_FRAGMENTS: u16 = 0x20;
    /// Equal files are stored once.
    pub const DUPLICATES: u16 = 0x40;
    /// There is an export table.
    pub const EXPORTABLE: u16 = 0x80;
    /// Extended attributes are not compressed.
    pub const RAW_XATTRS: u16 = 0x100;
    /// There are no extended attributes.
    pub const NO_XATTRS: u16 = 0x200;
    /// A metadata block with the compressor's options follows the superblock.
    pub const COMPRESSOR_OPTIONS: u16 = 0x400;
    /// Owners and groups are not compressed.
    pub const RAW_IDS: u16 = 0x800;

    /// Returns whether all of some bits are set.
    pub const fn has(self, bits: u16) -> bool {
        self.0.get() & bits == bits
    }
}

/// Points into a table of metadata: from the table's start to the metadata block (48 bits), and
/// into that block once it is decoded (16 bits).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct MetaRef(pub U64);

impl MetaRef {
    /// Makes a reference from the stored distance of the block and an offset below 8192.
    pub const fn new(block: u64, offset: u16) -> Self {
        Self(U64::new((block << 16) | offset as u64))
    }

    /// Returns the distance in stored bytes from the table's start to the metadata block.
    pub const fn block(self) -> u64 {
        self.0.get() >> 16
    }

    /// Returns the offset in the decoded metadata block.
    #[allow(clippy::cast_possible_truncation, reason = "the low 16 bits are meant")]
    pub const fn offset(self) -> u16 {
        self.0.get() as u16
    }
}

/// The two bytes before every metadata block.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct MetadataHeader(pub U16);

impl MetadataHeader {
    /// The bit of a block that is stored as it is.
    pub const RAW: u16 = 0x8000;

    /// Returns the stored bytes that follow.
    pub const fn stored(self) -> u16 {
        self.0.get() & !Self::RAW
    }

    /// Returns whether these are not encoded.
    pub const fn is_raw(self) -> bool {
        self.0.get() & Self::RAW != 0
    }
}

/// The stored size of a block of a file or of a fragment block.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct BlockWord(pub U32);

impl BlockWord {
    /// The bit of a block that is stored as it is.
    pub const RAW: u32 = 1 << 24;

    /// A block of zeros, of which nothing is stored.
    pub const HOLE: Self = Self(U32::new(0));

    /// Returns the stored bytes; zero for a hole.
    pub const fn stored(self) -> u32 {
        self.0.get() & (Self::RAW - 1)
    }

    /// Returns whether these are not encoded.
    pub const fn is_raw(self) -> bool {
        self.0.get() & Self::RAW != 0
    }
}

/// Introduces up to 256 entries whose inodes lie in one metadata block.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DirectoryHeader {
    /// The number of entries, less one.
    pub count: U32,
    /// The distance of the inodes' metadata block from the start of the inode table.
    pub inode_block: U32,
    /// The number that the entries' inode numbers are relative to.
    pub inode_number: U32,
}

const _: () = assert!(size_of::<DirectoryHeader>() == 12);

/// One name of a directory; the bytes of the name follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DirectoryEntry {
    /// The offset of the inode in its decoded metadata block.
    pub inode_offset: U16,
    /// The inode's number less that of the header.
    pub inode_delta: I16,
    /// The basic type of the inode, also where the inode is extended.
    pub kind: inode::InodeType,
    /// Bytes of the name, less one.
    pub name_len: U16,
}

const _: () = assert!(size_of::<DirectoryEntry>() == 8);

/// One entry of a directory's index: what the first header in a metadata block of the listing
/// starts with; the bytes of that header's first name follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DirectoryIndex {
    /// The offset of the header in the decoded listing.
    pub offset: U32,
    /// The distance of its metadata block from the start of the directory table.
    pub block: U32,
    /// Bytes of the name, less one.
    pub name_len: U32,
}

const _: () = assert!(size_of::<DirectoryIndex>() == 12);

/// One entry of the fragment table.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct FragmentEntry {
    /// Where the fragment block starts.
    pub start: U64,
    /// Its stored size.
    pub size: BlockWord,
    /// Zero.
    pub unused: U32,
}

const _: () = assert!(size_of::<FragmentEntry>() == 16);

/// Opens the table of extended attributes' ids; the positions of its metadata blocks follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrTable {
    /// Where the names and values start.
    pub start: U64,
    /// The number of ids.
    pub ids: U32,
    /// Zero.
    pub unused: U32,
}

const _: () = assert!(size_of::<XattrTable>() == 16);

/// One id of extended attributes: a list of names and values.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrId {
    /// Where the list is, from the start of the names and values.
    pub list: MetaRef,
    /// The number of pairs.
    pub count: U32,
    /// Bytes of all full names and values together, with a NUL for each name.
    pub size: U32,
}

const _: () = assert!(size_of::<XattrId>() == 16);

/// One name of extended attributes, without its prefix; the bytes of the name follow, and then a
/// `XattrValue`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrEntry {
    /// The prefix, and how the value is stored.
    pub kind: XattrKind,
    /// Bytes of the name.
    pub name_len: U16,
}

const _: () = assert!(size_of::<XattrEntry>() == 4);

/// Says which prefix a name has and where its value is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct XattrKind(pub U16);

impl XattrKind {
    /// The prefix `user.`.
    pub const USER: u16 = 0;
    /// The prefix `trusted.`.
    pub const TRUSTED: u16 = 1;
    /// The prefix `security.`.
    pub const SECURITY: u16 = 2;
    /// The bit of a value that is a `MetaRef` to the real one.
    pub const OUT_OF_LINE: u16 = 0x100;

    /// Returns the prefix of the name; `None` for an unknown one.
    pub const fn prefix(self) -> Option<&'static str> {
        Some(match self.0.get() & 0xff {
            Self::USER => "user.",
            Self::TRUSTED => "trusted.",
            Self::SECURITY => "security.",
            _ => return None,
        })
    }

    /// Returns whether the value is a `MetaRef` to the real one.
    pub const fn is_out_of_line(self) -> bool {
        self.0.get() & Self::OUT_OF_LINE != 0
    }
}

/// The length of a value; its bytes follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct XattrValue(pub U32);
