//! The bytes of compressed files: the map's header, indexes of logical clusters, extents, and the
//! configurations of algorithms after the superblock.
//!
//! **Invariant:** only layout, as its parent.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The longest stored pcluster in bytes.
pub const CLUSTER_MAX: u64 = 1 << 20;

/// The longest decoded pcluster in bytes.
pub const DECODED_MAX: u64 = 12 << 20;

/// The largest dictionary of LZMA in bytes.
pub const LZMA_DICT_MAX: u32 = 8 << 20;

/// Bits of `MapHeader::advise`.
pub mod advise {
    /// Compact indexes: packs of 16 indexes of 2 bytes each are used where they fit.
    pub const COMPACTED_2B: u16 = 0x0001;
    /// Full indexes: there are extents in their place.
    pub const EXTENTS: u16 = 0x0001;
    /// Clusters of the first algorithm may have several blocks.
    pub const BIG_CLUSTER_1: u16 = 0x0002;
    /// Clusters of the second algorithm may have several blocks.
    pub const BIG_CLUSTER_2: u16 = 0x0004;
    /// The last pcluster follows the indexes.
    pub const INLINE_CLUSTER: u16 = 0x0008;
    /// Clusters that are not compressed keep each byte's position in its block.
    pub const INTERLACED: u16 = 0x0010;
    /// The last extent is in the packed inode.
    pub const FRAGMENT: u16 = 0x0020;
    /// The position of the size of extents.
    pub const EXTENT_SIZE_SHIFT: u32 = 1;
    /// The size of extents after the shift: 4 bytes times this power of two.
    pub const EXTENT_SIZE_MASK: u16 = 0x0003;
}

/// The header of the map of a compressed file, at the next multiple of 8 after the inode.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MapHeader {
    /// The offset in the packed inode; or, in the high half, bytes of the last cluster; or the
    /// number of extents.
    pub low: U32,
    /// Bits of `advise`.
    pub advise: U16,
    /// The algorithms, the first in the low half.
    pub algorithms: u8,
    /// The size of logical clusters in blocks as a power of two; bit 7: all is in the packed inode.
    pub cluster_bits: u8,
}

const _: () = assert!(size_of::<MapHeader>() == 8);

impl MapHeader {
    /// The bit of `cluster_bits` that makes the header an offset in the packed inode.
    pub const WHOLE_FRAGMENT: u8 = 0x80;
    /// The bits of `cluster_bits` that hold the size.
    pub const BITS_MASK: u8 = 0x0f;
    /// Bytes between the header and full indexes.
    pub const FULL_PADDING: u64 = 8;
}

/// The type of an lcluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterType {
    /// An extent that is not compressed begins here.
    Plain,
    /// An extent of the first algorithm begins here.
    Head1,
    /// No extent begins here.
    NonHead,
    /// An extent of the second algorithm begins here.
    Head2,
}

impl ClusterType {
    /// Returns the two bits of the type.
    pub const fn bits(self) -> u16 {
        match self {
            Self::Plain => 0,
            Self::Head1 => 1,
            Self::NonHead => 2,
            Self::Head2 => 3,
        }
    }

    /// Reads the type from the low two bits.
    pub const fn from_bits(bits: u16) -> Self {
        match bits & 3 {
            0 => Self::Plain,
            1 => Self::Head1,
            2 => Self::NonHead,
            _ => Self::Head2,
        }
    }
}

/// The full index of a logical cluster.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ClusterIndex {
    /// The type and `PARTIAL`.
    pub advise: U16,
    /// The start of the extent in the lcluster.
    pub offset: U16,
    /// The block of the cluster; for `NonHead` the distances back and forth to the next heads.
    pub block: U32,
}

const _: () = assert!(size_of::<ClusterIndex>() == 8);

impl ClusterIndex {
    /// The extent is the first part of the pcluster's content.
    pub const PARTIAL: u16 = 0x8000;
    /// The distance back is in truth the number of blocks of the cluster.
    pub const BLOCK_COUNT: u16 = 0x0800;
}

/// An extent; the shorter forms end earlier.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ExtentRecord {
    /// Stored bytes, `PARTIAL`, and the algorithm plus one.
    pub stored: U32,
    /// Its position in the image, in bytes.
    pub start: U32,
    /// High bits of that.
    pub start_high: U32,
    /// Its start in the file.
    pub logical: U32,
    /// High bits of that.
    pub logical_high: U32,
    /// Not used.
    pub reserved: [u8; 12],
}

const _: () = assert!(size_of::<ExtentRecord>() == 32);

impl ExtentRecord {
    /// The bits of `stored` that hold the length.
    pub const LENGTH_MASK: u32 = 0x001f_ffff;
    /// The extent is the first part of the pcluster's content.
    pub const PARTIAL: u32 = 1 << 27;
    /// The position of the algorithm; 0 means not compressed.
    pub const FORMAT_SHIFT: u32 = 28;
}

/// The configuration of LZMA.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct LzmaConfig {
    /// The dictionary in bytes.
    pub dict_size: U32,
    /// Always 0.
    pub format: U16,
    /// Not used.
    pub reserved: [u8; 8],
}

const _: () = assert!(size_of::<LzmaConfig>() == 14);

/// The configuration of LZ4.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Lz4Config {
    /// The longest distance in bytes; 0 means 65535.
    pub max_distance: U16,
    /// The longest pcluster in blocks.
    pub max_cluster_blocks: U16,
    /// Not used.
    pub reserved: [u8; 10],
}

const _: () = assert!(size_of::<Lz4Config>() == 14);

/// The configuration of DEFLATE.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DeflateConfig {
    /// The window as a power of two.
    pub window_bits: u8,
    /// Not used.
    pub reserved: [u8; 5],
}

const _: () = assert!(size_of::<DeflateConfig>() == 6);

/// The configuration of Zstandard.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ZstdConfig {
    /// Always 0.
    pub format: u8,
    /// The window as a power of two, less 10.
    pub window_log: u8,
    /// Not used.
    pub reserved: [u8; 4],
}

const _: () = assert!(size_of::<ZstdConfig>() == 6);
