//! The bytes of EROFS: superblock, devices, inodes, directory entries, extended attributes, chunks.
//!
//! In: bytes of an image. Out: typed structures, read without copies.
//!
//! **Invariant:** only layout: nothing here decides whether a value makes sense.
//! Format: `docs/formats/erofs.md`; `include/erofs_fs.h` of erofs-utils (Apache-2.0).

mod algorithm;
pub mod compressed;
mod data_layout;

use sinterfs_model::FileType;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use algorithm::Algorithm;
pub(crate) use data_layout::DataLayout;

/// The first bytes of the superblock.
pub const MAGIC: u32 = 0xe0f5_e1e2;

/// The offset of the superblock.
pub const SUPERBLOCK_OFFSET: u64 = 1024;

/// Bits of `Superblock::feature_compat`: what a reader may ignore.
pub mod compat {
    /// `checksum` holds a CRC32C.
    pub const SB_CHKSUM: u32 = 0x01;
    /// Extended inodes hold times of modification, not of inode change.
    pub const MTIME: u32 = 0x02;
    /// `XattrHeader::name_filter` is filled in.
    pub const XATTR_FILTER: u32 = 0x04;
    /// Shared extended attributes are in the metabox.
    pub const SHARED_EA_IN_METABOX: u32 = 0x08;
    /// Long name prefixes are in the image itself, not in the packed inode or the metabox.
    pub const PLAIN_XATTR_PFX: u32 = 0x10;

    /// The names of the bits, as upstream's tools show them.
    pub const NAMES: &[(u32, &str)] = &[
        (SB_CHKSUM, "sb_csum"),
        (MTIME, "mtime"),
        (XATTR_FILTER, "xattr_filter"),
        (SHARED_EA_IN_METABOX, "shared_ea_in_metabox"),
        (PLAIN_XATTR_PFX, "plain_xattr_pfx"),
    ];
}

/// Bits of `Superblock::feature_incompat`: what a reader must know.
pub mod incompat {
    /// Compressed data ends with its block; the zeros are in front of it.
    pub const ZERO_PADDING: u32 = 0x01;
    /// Configurations of algorithms follow the superblock; clusters may have several blocks.
    pub const COMPR_CFGS: u32 = 0x02;
    /// There are files made of chunks.
    pub const CHUNKED_FILE: u32 = 0x04;
    /// There are further devices, or clusters of a second algorithm.
    pub const DEVICE_TABLE: u32 = 0x08;
    /// The last cluster of a file may be stored beside its inode.
    pub const ZTAILPACKING: u32 = 0x10;
    /// Ends of files may be in the packed inode; clusters may be referred to in part.
    pub const FRAGMENTS: u32 = 0x20;
    /// There are long prefixes of names of extended attributes.
    pub const XATTR_PREFIXES: u32 = 0x40;
    /// Block addresses have 48 bits; extents may begin at any byte.
    pub const BIT48: u32 = 0x80;
    /// Some metadata is in the metabox, an inode that may be compressed.
    pub const METABOX: u32 = 0x100;

    /// The names of the bits, as upstream's tools show them.
    pub const NAMES: &[(u32, &str)] = &[
        (ZERO_PADDING, "0padding"),
        (COMPR_CFGS, "compr_cfgs,big_pcluster"),
        (CHUNKED_FILE, "chunked_file"),
        (DEVICE_TABLE, "device_table,compr_head2"),
        (ZTAILPACKING, "ztailpacking"),
        (FRAGMENTS, "fragments,dedupe"),
        (XATTR_PREFIXES, "xattr_prefixes"),
        (BIT48, "48bit"),
        (METABOX, "metabox"),
    ];
}

/// The superblock, at `SUPERBLOCK_OFFSET`; its last 16 bytes are there if there is an extension.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Superblock {
    /// `MAGIC`.
    pub magic: U32,
    /// CRC32C of the superblock's block, this field taken as zero.
    pub checksum: U32,
    /// Bits of `compat`.
    pub feature_compat: U32,
    /// The block size as a power of two.
    pub block_bits: u8,
    /// Extensions of the superblock of 16 bytes each.
    pub extensions: u8,
    /// The root's number, or, where `root_nid` is it, the high bits of `blocks`.
    pub root_nid_or_blocks_high: U16,
    /// Inodes of the image.
    pub inodes: U64,
    /// Seconds that times of compact inodes count from.
    pub epoch: U64,
    /// Nanoseconds of all times of compact inodes.
    pub fixed_nanos: U32,
    /// Blocks of the image, for `statfs`.
    pub blocks: U32,
    /// The block that inode numbers count from.
    pub meta_block: U32,
    /// The block that numbers of shared extended attributes count from.
    pub xattr_block: U32,
    /// The volume's UUID.
    pub uuid: [u8; 16],
    /// The volume's name, filled up with zeros.
    pub volume_name: [u8; 16],
    /// Bits of `incompat`.
    pub feature_incompat: U32,
    /// A bit for each algorithm with `COMPR_CFGS`, else the longest distance of LZ4.
    pub algorithms: U16,
    /// The number of devices in addition to the image itself.
    pub extra_devices: U16,
    /// The start of the table of devices, in units of `DeviceSlot`.
    pub device_slot: U16,
    /// The size of directory blocks in blocks, as a power of two; always 0.
    pub dir_block_bits: u8,
    /// Long prefixes of names of extended attributes.
    pub xattr_prefix_count: u8,
    /// Their start, in units of 4 bytes.
    pub xattr_prefix_start: U32,
    /// The number of the packed inode.
    pub packed_nid: U64,
    /// Not used.
    pub xattr_filter_reserved: u8,
    /// Not used.
    pub reserved: [u8; 3],
    /// Seconds from `epoch` to the time the image was made.
    pub build_time: U32,
    /// With `BIT48`: the root's number, unless 0.
    pub root_nid: U64,
    /// Not used.
    pub reserved2: U64,
    /// With `METABOX`: the number of the metabox.
    pub metabox_nid: U64,
    /// Not used.
    pub reserved3: U64,
}

const _: () = assert!(size_of::<Superblock>() == 144);

impl Superblock {
    /// The length without extensions in bytes.
    pub const BASE: usize = 128;
    /// The length of an extension in bytes.
    pub const EXTENSION: usize = 16;
}

/// A device in addition to the image itself.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DeviceSlot {
    /// The identification of the device: a name or a digest, padded with zeros.
    pub tag: [u8; 64],
    /// Its blocks, low bits.
    pub blocks: U32,
    /// Its first block in the addresses that all devices share, low bits; 0 if it has none.
    pub first_block: U32,
    /// Its blocks, high bits.
    pub blocks_high: U32,
    /// Its first block in the shared addresses, high bits.
    pub first_block_high: U16,
    /// Not used.
    pub reserved: [u8; 26],
    /// Which device it is: `DeviceHeader` of this program's devices, else zeros.
    pub header: DeviceHeader,
}

const _: () = assert!(size_of::<DeviceSlot>() == 128);

/// A tag that an image and its device share, so that another device is not mistaken for it: in the
/// device it is at the beginning of the first block, which has no content.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DeviceHeader {
    /// `DeviceHeader::MAGIC`.
    pub magic: [u8; 8],
    /// The hash of the device's content, and its length in blocks.
    pub identity: [u8; 16],
}

impl DeviceHeader {
    /// Its first bytes.
    pub const MAGIC: [u8; 8] = *b"SINTERDV";
}

/// Bits of `InodeCompact::format` and `InodeExtended::format`.
pub mod format {
    /// The inode is an `InodeExtended`.
    pub const EXTENDED: u16 = 0x01;
    /// The position of the data layout.
    pub const LAYOUT_SHIFT: u32 = 1;
    /// The layout of data, after the shift.
    pub const LAYOUT_MASK: u16 = 0x07;
    /// A compact inode has one name, and `nlink` holds high bits of an address.
    pub const ONE_NAME: u16 = 0x10;
    /// A directory has no entry `.`.
    pub const DOT_OMITTED: u16 = 0x10;
    /// All bits that are known.
    pub const ALL: u16 = 0x1f;
}

/// The units of inode numbers, in bytes.
pub const INODE_SLOT: u64 = 32;

/// The short form of an inode.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct InodeCompact {
    /// Bits of `format`.
    pub format: U16,
    /// Words of extended attributes after the inode.
    pub xattr_count: U16,
    /// Type and permissions.
    pub mode: U16,
    /// Names, or high bits of `start`.
    pub nlink: U16,
    /// Bytes of content.
    pub size: U32,
    /// Seconds from the superblock's `epoch`.
    pub mtime: U32,
    /// The first block, or stored blocks, or the device's number, or how chunks are kept.
    pub start: U32,
    /// A number for programs that know 32 bits.
    pub ino: U32,
    /// The owner.
    pub uid: U16,
    /// The group.
    pub gid: U16,
    /// Not used.
    pub reserved: U32,
}

const _: () = assert!(size_of::<InodeCompact>() == 32);

/// The long form of an inode.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct InodeExtended {
    /// Bits of `format`.
    pub format: U16,
    /// Words of extended attributes after the inode.
    pub xattr_count: U16,
    /// Type and permissions.
    pub mode: U16,
    /// High bits of `start`.
    pub start_high: U16,
    /// Bytes of content.
    pub size: U64,
    /// The first block, or stored blocks, or the device's number, or how chunks are kept.
    pub start: U32,
    /// A number for programs that know 32 bits.
    pub ino: U32,
    /// The owner.
    pub uid: U32,
    /// The group.
    pub gid: U32,
    /// Seconds since 1970.
    pub mtime: U64,
    /// Nanoseconds.
    pub mtime_nanos: U32,
    /// Names.
    pub nlink: U32,
    /// Not used.
    pub reserved: [u8; 16],
}

const _: () = assert!(size_of::<InodeExtended>() == 64);

/// The header of a composefs image, 1024 bytes before the superblock.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ComposefsHeader {
    /// `COMPOSEFS_MAGIC`.
    pub magic: U32,
    /// The version of this header: 1.
    pub header_version: U32,
    /// Bit 0: there are POSIX ACLs.
    pub flags: U32,
    /// The version of the format: how the files became an image.
    pub version: U32,
    /// Not used.
    pub reserved: [u8; 16],
}

const _: () = assert!(size_of::<ComposefsHeader>() == 32);

/// The first bytes of a composefs image.
pub const COMPOSEFS_MAGIC: u32 = 0xd078_629a;

/// An entry of a directory block; the names follow the last entry.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DirentRaw {
    /// The number of the inode.
    pub nid: U64,
    /// The start of the name in the block.
    pub name_offset: U16,
    /// The type: 1 file, 2 directory, 3 and 4 devices, 5 fifo, 6 socket, 7 symlink.
    pub kind: u8,
    /// Not used.
    pub reserved: u8,
}

const _: () = assert!(size_of::<DirentRaw>() == 12);

/// The types by their number in an entry, from 1 on.
const ENTRY_TYPES: [FileType; 7] = [
    FileType::File,
    FileType::Directory,
    FileType::CharDevice,
    FileType::BlockDevice,
    FileType::Fifo,
    FileType::Socket,
    FileType::Symlink,
];

/// Returns the type of an entry by its number; `None` for others.
pub(crate) fn entry_type(number: u8) -> Option<FileType> {
    let index = usize::from(number).checked_sub(1)?;
    ENTRY_TYPES.get(index).copied()
}

/// Returns the number of a type in an entry.
pub(crate) fn entry_number(kind: FileType) -> u8 {
    let mut numbered = (1..).zip(ENTRY_TYPES);
    let found = numbered.find(|(_, one)| *one == kind);
    found.map_or(0, |(number, _)| number)
}

/// The bit of an inode number that marks inodes in the metabox.
pub const IN_METABOX: u64 = 1 << 63;

/// The longest name in bytes.
pub const NAME_MAX: usize = 255;

/// The header of the extended attributes after an inode.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct XattrHeader {
    /// Bits of names that are not there, by a hash.
    pub name_filter: U32,
    /// Numbers of shared attributes, 4 bytes each, that follow.
    pub shared_count: u8,
    /// Not used.
    pub reserved: [u8; 7],
}

const _: () = assert!(size_of::<XattrHeader>() == 12);

/// The base to which the number of a prefix is added to hash a name; five bits of the hash choose a
/// bit of `XattrHeader::name_filter`.
pub const XATTR_FILTER_SEED: u32 = 0x25bb_e08f;

/// The units of extended attributes, in bytes.
pub const XATTR_WORD: u64 = 4;

/// An extended attribute; name and value follow.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct XattrEntry {
    /// Bytes of the name without its prefix.
    pub name_len: u8,
    /// The prefix.
    pub name_index: u8,
    /// Bytes of the value.
    pub value_size: U16,
}

const _: () = assert!(size_of::<XattrEntry>() == 4);

impl XattrEntry {
    /// The bit of `name_index` that marks the number of a long prefix.
    pub const LONG_PREFIX: u8 = 0x80;
}

/// Returns the prefix of a name by its index.
pub const fn xattr_prefix(index: u8) -> Option<&'static str> {
    Some(match index {
        0 => "",
        1 => "user.",
        2 => "system.posix_acl_access",
        3 => "system.posix_acl_default",
        4 => "trusted.",
        5 => "lustre.",
        6 => "security.",
        _ => return None,
    })
}

/// Bits of how chunks are kept.
pub mod chunk {
    /// The size of chunks in blocks as a power of two.
    pub const BITS_MASK: u16 = 0x001f;
    /// There is a `ChunkIndex` for each chunk, not a block's address of 4 bytes.
    pub const INDEXES: u16 = 0x0020;
    /// Addresses have 48 bits.
    pub const BIT48: u16 = 0x0040;
    /// All bits that are known.
    pub const ALL: u16 = 0x007f;
}

/// The location of a chunk.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ChunkIndex {
    /// The first block, high bits.
    pub start_high: U16,
    /// The device; 0 is the image itself.
    pub device: U16,
    /// The first block, low bits; all bits set for a hole.
    pub start: U32,
}

const _: () = assert!(size_of::<ChunkIndex>() == 8);
