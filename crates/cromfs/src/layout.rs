//! The bytes of Cromfs: the superblock, feature flags, inodes, block pointers.
//!
//! In: bytes of an image. Out: fields. Nothing is checked here but lengths, the version and flags.
//!
//! Format: `docs/formats/cromfs.md`.

use sinterfs_model::{Error, FileType, Result};

/// The first bytes of every image, without the two digits of the version.
pub const MAGIC: &[u8; 6] = b"CROMFS";

/// The length of the superblock in bytes, without the fields of images that can grow.
pub const SUPERBLOCK_LEN: usize = 0x38;

/// The bytes of an inode before its block size and block numbers.
pub const INODE_LEN: usize = 0x18;

/// The header of an LZMA stream: properties, dictionary size, decoded size.
pub const LZMA_HEADER_LEN: usize = 13;

/// The layout of an image: its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// The inodes of root and inode table are not compressed.
    V01,
    /// They are.
    V02,
    /// The inode of the inode table has flags.
    V03,
}

impl Version {
    /// Returns the digits of the signature.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V01 => "01",
            Self::V02 => "02",
            Self::V03 => "03",
        }
    }
}

/// The decoded superblock. Positions are relative to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuperblockFields {
    /// The version.
    pub version: Version,
    /// The position of the compressed table of blocks.
    pub blocks_at: u64,
    /// The position of the first fblock.
    pub fblocks_at: u64,
    /// The position of the inode of the inode table.
    pub inotab_at: u64,
    /// The position of the inode of the root.
    pub root_at: u64,
    /// The largest decoded length of an fblock in bytes.
    pub fblock_size: u32,
    /// The block size in bytes.
    pub block_size: u32,
    /// Bytes of all files, as their maker counted them.
    pub bytes: u64,
}

impl SuperblockFields {
    /// Decodes a superblock. `Invalid` if there is none, `Unsupported` for other versions.
    pub fn decode(bytes: &[u8; SUPERBLOCK_LEN]) -> Result<Self> {
        if !bytes.starts_with(MAGIC) {
            return Err(Error::invalid("no Cromfs image"));
        }
        let version = match &part::<8>(bytes, 0) {
            b"CROMFS01" => Version::V01,
            b"CROMFS02" => Version::V02,
            b"CROMFS03" => Version::V03,
            other => {
                let shown = String::from_utf8_lossy(other).into_owned();
                let what = format!("a Cromfs image of version {shown:?}; 01 to 03 are read");
                return Err(Error::unsupported(what));
            }
        };
        let long = |at| u64::from_le_bytes(part(bytes, at));
        let word = |at| u32::from_le_bytes(part(bytes, at));
        Ok(Self {
            version,
            blocks_at: long(0x08),
            fblocks_at: long(0x10),
            inotab_at: long(0x18),
            root_at: long(0x20),
            fblock_size: word(0x28),
            block_size: word(0x2c),
            bytes: long(0x30),
        })
    }
}

/// Flags in the mode of the inode table's inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(pub u32);

impl Features {
    /// Fblocks are padded, so that they can grow.
    pub const SPARSE: u32 = 0x1;
    /// Block numbers in inodes have 24 bits.
    pub const BITS_24: u32 = 0x100;
    /// Block numbers in inodes have 16 bits.
    pub const BITS_16: u32 = 0x200;
    /// Block pointers have four bytes.
    pub const PACKED: u32 = 0x400;
    /// Each inode has a block size.
    pub const BLOCK_SIZES: u32 = 0x800;
    /// Fblocks are transformed by moving to front; no tool has read such images since 2007.
    pub const MTF: u32 = 0x1_0000;
    /// Fblocks are transformed by Burrows and Wheeler's method; likewise.
    pub const BWT: u32 = 0x2_0000;
    /// The flags that are read.
    pub const READ: u32 = Self::BITS_24 | Self::BITS_16 | Self::PACKED | Self::BLOCK_SIZES;

    /// Returns whether a flag is set.
    pub const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// Fails with `Unsupported` for flags that are not read.
    pub fn check(self) -> Result<()> {
        let known = [
            (Self::SPARSE, "padded fblocks"),
            (Self::MTF, "the MTF filter"),
            (Self::BWT, "the BWT filter"),
        ];
        if let Some((_, what)) = known.iter().find(|(flag, _)| self.has(*flag)) {
            return Err(Error::unsupported(format!("{what} of Cromfs")));
        }
        let unknown = self.0 & !Self::READ;
        if unknown != 0 {
            return Err(Error::unsupported(format!("unknown flags {unknown:#x}")));
        }
        if self.has(Self::BITS_16) && self.has(Self::BITS_24) {
            return Err(Error::corrupt("block numbers of both 16 and 24 bits"));
        }
        Ok(())
    }

    /// Returns the bytes of a block number in an inode.
    pub const fn number_len(self) -> usize {
        if self.has(Self::BITS_16) {
            2
        } else if self.has(Self::BITS_24) {
            3
        } else {
            4
        }
    }

    /// Returns the bytes of a block pointer.
    pub const fn pointer_len(self) -> usize {
        if self.has(Self::PACKED) { 4 } else { 8 }
    }

    /// Returns the bytes of an inode before its block numbers.
    pub const fn inode_len(self) -> usize {
        if self.has(Self::BLOCK_SIZES) {
            INODE_LEN + 4
        } else {
            INODE_LEN
        }
    }
}

/// The fields of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InodeFields {
    /// Type and permissions, as in `st_mode`; flags in the inode of the inode table.
    pub mode: u32,
    /// The time of modification in seconds since 1970.
    pub mtime: u32,
    /// The number of a device, or the number of names.
    pub links_or_rdev: u32,
    /// The owner.
    pub uid: u16,
    /// The group.
    pub gid: u16,
    /// Bytes of content.
    pub size: u64,
}

impl InodeFields {
    /// Returns the type; `Corrupt` if the mode has none.
    pub fn kind(&self) -> Result<FileType> {
        let kind = FileType::from_mode(self.mode);
        kind.ok_or_else(|| Error::corrupt(format!("mode {:#o}", self.mode)))
    }

    /// Decodes an inode.
    pub fn decode(bytes: &[u8; INODE_LEN]) -> Self {
        let word = |at| u32::from_le_bytes(part(bytes, at));
        let half = |at| u16::from_le_bytes(part(bytes, at));
        Self {
            mode: word(0),
            mtime: word(4),
            links_or_rdev: word(8),
            uid: half(0xc),
            gid: half(0xe),
            size: u64::from_le_bytes(part(bytes, 0x10)),
        }
    }
}

/// Returns a part of some bytes; zeros past their end.
pub(crate) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or([0; N])
}
