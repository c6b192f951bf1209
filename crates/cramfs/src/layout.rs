//! The bytes of CRAMFS: the superblock, inodes and block pointers, in both byte orders.
//!
//! In: bytes of an image, or fields. Out: fields, or bytes. Nothing is checked here but lengths.
//!
//! **Invariant:** what is decoded from encoded fields equals them. Format:
//! `docs/formats/cramfs.md`.

use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// The magic number, in the byte order of the image.
pub const MAGIC: u32 = 0x28cd_3d45;

/// The signature after the first four words of the superblock.
pub const SIGNATURE: &[u8; 16] = b"Compressed ROMFS";

/// The length of the superblock in bytes, with the inode of the root.
pub const SUPERBLOCK_LEN: usize = 76;

/// The length of an inode in bytes, without the name.
pub const INODE_LEN: usize = 12;

/// The offset of the inode of the root in the superblock.
pub const ROOT_AT: usize = SUPERBLOCK_LEN - INODE_LEN;

/// The offset of the checksum in the superblock.
pub const CHECKSUM_AT: usize = 32;

/// The bytes before the superblock of a padded image.
pub const PADDING: u64 = 512;

/// The usual block size in bytes; an image does not say which it has.
pub const BLOCK_SIZE: u32 = 4096;

/// The largest block size in bytes that is recognised or written.
pub const BLOCK_SIZE_MAX: u32 = 1 << 20;

/// Files have fewer bytes than these: 2^24.
pub const FILE_LIMIT: u64 = 1 << 24;

/// Inodes refer to offsets below this: 2^28.
pub const OFFSET_LIMIT: u64 = 1 << 28;

/// The longest target of a symlink that we read, in bytes.
pub const TARGET_MAX: u32 = 1 << 16;

/// The longest name in bytes.
pub const NAME_MAX: usize = 252;

/// Flags of the superblock. Those in the low byte may be ignored by a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// The size, the checksum and the counts are valid (version 2).
    pub const VERSION_2: u32 = 0x1;
    /// The entries of directories are sorted by name.
    pub const SORTED: u32 = 0x2;
    /// Files may have holes.
    pub const HOLES: u32 = 0x100;
    /// Reserved: the signature is wrong.
    pub const WRONG_SIGNATURE: u32 = 0x200;
    /// The listing of the root does not follow the superblock.
    pub const SHIFTED_ROOT: u32 = 0x400;
    /// Block pointers have the flags of [`Pointer`].
    pub const POINTER_FLAGS: u32 = 0x800;
    /// All flags that a reader may find.
    pub const KNOWN: u32 =
        0xff | Self::HOLES | Self::WRONG_SIGNATURE | Self::SHIFTED_ROOT | Self::POINTER_FLAGS;

    /// Returns whether a flag is set.
    pub const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

/// The byte order of an image, which is the order of its target machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte, and first bit field, first.
    Little,
    /// Most significant byte, and first bit field, first.
    Big,
}

impl FromStr for ByteOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "little" => Ok(Self::Little),
            "big" => Ok(Self::Big),
            _ => {
                let what = format!("byte order `{text}`: must be little or big");
                Err(Error::invalid(what))
            }
        }
    }
}

impl ByteOrder {
    /// Returns the name of the order.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Little => "little-endian",
            Self::Big => "big-endian",
        }
    }

    /// Decodes a word.
    pub const fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Encodes a word.
    pub const fn bytes(self, word: u32) -> [u8; 4] {
        match self {
            Self::Little => word.to_le_bytes(),
            Self::Big => word.to_be_bytes(),
        }
    }

    /// Decodes a number of 16 bits.
    pub const fn half(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    /// Splits a word into its first bit field, of `bits` bits, and its second one.
    const fn split(self, word: u32, bits: u32) -> (u32, u32) {
        match self {
            Self::Little => (word & (u32::MAX >> (32 - bits)), word >> bits),
            Self::Big => (word >> (32 - bits), word & (u32::MAX >> bits)),
        }
    }

    /// Joins the first bit field, of `bits` bits, and the second one.
    const fn join(self, first: u32, bits: u32, second: u32) -> u32 {
        match self {
            Self::Little => first | (second << bits),
            Self::Big => (first << (32 - bits)) | second,
        }
    }
}

/// The fields of an inode, which precedes its name in the listing of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InodeFields {
    /// Type and permissions, as in `st_mode`.
    pub mode: u16,
    /// The owner.
    pub uid: u16,
    /// Bytes of content, below 2^24; the number of a device.
    pub size: u32,
    /// The low byte of the group.
    pub gid: u8,
    /// The length of the name in words of four bytes, at most 63.
    pub name_words: u8,
    /// The offset of listing or block pointers in words of four bytes, below 2^26.
    pub offset_words: u32,
}

impl InodeFields {
    /// Decodes an inode.
    pub fn decode(order: ByteOrder, bytes: &[u8; INODE_LEN]) -> Self {
        let &[a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        let (mode, uid) = order.split(order.word([a, b, c, d]), 16);
        let (size, gid) = order.split(order.word([e, f, g, h]), 24);
        let (name_words, offset_words) = order.split(order.word([i, j, k, l]), 6);
        Self {
            mode: u16::try_from(mode).unwrap_or(0),
            uid: u16::try_from(uid).unwrap_or(0),
            size,
            gid: u8::try_from(gid).unwrap_or(0),
            name_words: u8::try_from(name_words).unwrap_or(0),
            offset_words,
        }
    }

    /// Encodes the inode.
    pub fn encode(&self, order: ByteOrder) -> [u8; INODE_LEN] {
        let owner = order.join(self.mode.into(), 16, self.uid.into());
        let size = order.join(self.size, 24, self.gid.into());
        let place = order.join(self.name_words.into(), 6, self.offset_words);
        let [a, b, c, d] = order.bytes(owner);
        let [e, f, g, h] = order.bytes(size);
        let [i, j, k, l] = order.bytes(place);
        [a, b, c, d, e, f, g, h, i, j, k, l]
    }

    /// Returns the length of the name in bytes, with its padding.
    pub fn name_len(&self) -> usize {
        usize::from(self.name_words) * 4
    }

    /// Returns the offset of listing or block pointers in bytes.
    pub fn offset(&self) -> u64 {
        u64::from(self.offset_words) * 4
    }
}

/// A block pointer: the end of a block or, with flags, where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer(pub u32);

impl Pointer {
    /// The block is not compressed.
    pub const RAW: u32 = 1 << 31;
    /// The other bits are the start of the block in words of four bytes.
    pub const DIRECT: u32 = 1 << 30;

    /// Returns whether a flag is set.
    pub const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// Returns the bits without flags.
    pub fn value(self) -> u64 {
        u64::from(self.0 & !(Self::RAW | Self::DIRECT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inodes_of_both_orders() {
        let fields = InodeFields {
            mode: 0o40755,
            uid: 33,
            size: 0x4c,
            gid: 0x21,
            name_words: 2,
            offset_words: 0x64,
        };
        let little = *b"\xed\x41\x21\x00\x4c\x00\x00\x21\x02\x19\x00\x00";
        let big = *b"\x41\xed\x00\x21\x00\x00\x4c\x21\x08\x00\x00\x64";
        assert_eq!(fields.encode(ByteOrder::Little), little);
        assert_eq!(fields.encode(ByteOrder::Big), big);
        assert_eq!(InodeFields::decode(ByteOrder::Little, &little), fields);
        assert_eq!(InodeFields::decode(ByteOrder::Big, &big), fields);
        assert_eq!((fields.name_len(), fields.offset()), (8, 0x190));
    }
}
