//! The bytes of SquashFS 4.0: superblock, inodes, directories, tables, words and flags.
//!
//! In: bytes of an image. Out: typed records, read and written without copies.
//!
//! **Invariant:** only layout: values are not validated here.
//! Format: `docs/formats/squashfs.md`.

pub mod inode;
pub mod options;

use zerocopy::little_endian::{I16, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The magic of images since 4.0, and of older little-endian ones.
pub const MAGIC: u32 = 0x7371_7368;

/// The major version of written images.
pub const MAJOR: u16 = 4;

/// The minor version of written images.
pub const MINOR: u16 = 0;

/// The decoded size of a metadata block in bytes; only the last one of a table is smaller.
pub const METADATA_SIZE: usize = 8192;

/// The smallest block size in bytes.
pub const BLOCK_SIZE_MIN: u32 = 4096;

/// The largest block size in bytes.
pub const BLOCK_SIZE_MAX: u32 = 1 << 20;

/// The position of an absent table.
pub const NO_TABLE: u64 = u64::MAX;

/// The fragment index of a file without a fragment.
pub const NO_FRAGMENT: u32 = u32::MAX;

/// The longest value of an extended attribute on Linux in bytes; larger ones are neither read nor
/// written.
pub const XATTR_VALUE_MAX: u32 = 64 << 10;

/// The largest total of an inode's attributes in bytes of memory.
pub const XATTR_TOTAL_MAX: usize = 16 << 20;

/// The approximate memory of an attribute, without its bytes.
pub const XATTR_PAIR_COST: usize = 64;

/// The attribute list id of an inode without extended attributes.
pub const NO_XATTR: u32 = u32::MAX;

/// The most entries that follow one directory header.
pub const DIRENTS_PER_HEADER: usize = 256;

/// The longest name on any system in bytes; entries could represent one more byte.
pub const NAME_MAX: usize = 255;

/// The difference of a directory's stored size and the length of its listing.
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
    /// Creation time in seconds since 1970.
    pub made: U32,
    /// The block size in bytes: a power of two.
    pub block_size: U32,
    /// The number of fragment blocks.
    pub fragments: U32,
    /// The codec of everything that is compressed.
    pub compressor: Compressor,
    /// The logarithm of `block_size`.
    pub block_log: U16,
    /// Features of the image.
    pub flags: Flags,
    /// The number of distinct owners and groups.
    pub ids: U16,
    /// `MAJOR`.
    pub major: U16,
    /// `MINOR`.
    pub minor: U16,
    /// The root directory's inode.
    pub root: MetaRef,
    /// The length of the image without padding in bytes.
    pub bytes_used: U64,
    /// The position of the id table's list of blocks.
    pub id_table: U64,
    /// The position of the `XattrTable`, or `NO_TABLE`.
    pub xattr_table: U64,
    /// The position of the inode table.
    pub inode_table: U64,
    /// The position of the directory table.
    pub directory_table: U64,
    /// The position of the fragment table's list of blocks, or `NO_TABLE`.
    pub fragment_table: U64,
    /// The position of the export table's list of blocks, or `NO_TABLE`.
    pub export_table: U64,
}

const _: () = assert!(size_of::<Superblock>() == 96);

/// The codec of an image; any value is valid, only some can be decoded.
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

    /// Returns the name for `mksquashfs -comp`; `None` for an unknown codec.
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

/// The flags of the superblock.
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

    /// Returns whether all of the given bits are set.
    pub const fn has(self, bits: u16) -> bool {
        self.0.get() & bits == bits
    }
}

/// A reference into a metadata table: the distance of a metadata block from the start of the table
/// (48 bits), and an offset in the decoded block (16 bits).
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
    /// The bit of an uncompressed block.
    pub const RAW: u16 = 0x8000;

    /// Returns the stored length of the block.
    pub const fn stored(self) -> u16 {
        self.0.get() & !Self::RAW
    }

    /// Returns whether the block is not compressed.
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
    /// The bit of an uncompressed block.
    pub const RAW: u32 = 1 << 24;

    /// A block of zeros, which is not stored.
    pub const HOLE: Self = Self(U32::new(0));

    /// Returns the stored length; zero for a hole.
    pub const fn stored(self) -> u32 {
        self.0.get() & (Self::RAW - 1)
    }

    /// Returns whether the block is not compressed.
    pub const fn is_raw(self) -> bool {
        self.0.get() & Self::RAW != 0
    }
}

/// The header of up to 256 entries whose inodes are in one metadata block.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DirectoryHeader {
    /// The number of entries minus one.
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
    /// The inode's number minus the header's.
    pub inode_delta: I16,
    /// The basic type of the inode, even if the inode is extended.
    pub kind: inode::InodeType,
    /// The length of the name in bytes minus one.
    pub name_len: U16,
}

const _: () = assert!(size_of::<DirectoryEntry>() == 8);

/// An entry of a directory's index, for the first header in a metadata block of the listing; the
/// first name after that header follows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DirectoryIndex {
    /// The offset of the header in the decoded listing.
    pub offset: U32,
    /// The distance of its metadata block from the start of the directory table.
    pub block: U32,
    /// The length of the name in bytes minus one.
    pub name_len: U32,
}

const _: () = assert!(size_of::<DirectoryIndex>() == 12);

/// One entry of the fragment table.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct FragmentEntry {
    /// The position of the fragment block.
    pub start: U64,
    /// Its stored size.
    pub size: BlockWord,
    /// Zero.
    pub unused: U32,
}

const _: () = assert!(size_of::<FragmentEntry>() == 16);

/// The start of the table of attribute lists; the positions of its metadata blocks follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrTable {
    /// The position of the names and values.
    pub start: U64,
    /// The number of lists.
    pub ids: U32,
    /// Zero.
    pub unused: U32,
}

const _: () = assert!(size_of::<XattrTable>() == 16);

/// A list of extended attributes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrId {
    /// The list, relative to the start of the names and values.
    pub list: MetaRef,
    /// The number of pairs.
    pub count: U32,
    /// The total length of full names and values in bytes, including a NUL per name.
    pub size: U32,
}

const _: () = assert!(size_of::<XattrId>() == 16);

/// The name of an extended attribute without its prefix; the bytes of the name and an `XattrValue`
/// follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct XattrEntry {
    /// The prefix, and the form of the value.
    pub kind: XattrKind,
    /// The length of the name in bytes.
    pub name_len: U16,
}

const _: () = assert!(size_of::<XattrEntry>() == 4);

/// The prefix of a name, and whether its value is out of line.
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
    /// The bit of an out-of-line value, stored as a `MetaRef` to it.
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

    /// Returns whether the value is out of line, stored as a `MetaRef` to it.
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
