//! The superblock: finds it, detects the byte order, and checks its fields.
//!
//! In: a window that starts with the image. Out: `SuperblockFields`.
//!
//! **Invariant:** the size is at most the size of the window, and the flags are known. Format:
//! `docs/formats/cramfs.md`, "Superblock".

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::layout::{
    ByteOrder, CHECKSUM_AT, Flags, INODE_LEN, InodeFields, MAGIC, OFFSET_LIMIT, PADDING, ROOT_AT,
    SIGNATURE, SUPERBLOCK_LEN,
};

/// The decoded superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuperblockFields {
    /// The offset of the superblock in the image: 0 or 512.
    pub at: u64,
    /// The byte order.
    pub order: ByteOrder,
    /// Bytes of the image; before version 2 all bytes up to the end of the file, at most 2^28.
    pub size: u64,
    /// The flags.
    pub flags: Flags,
    /// The CRC-32 of the image from the superblock on.
    pub checksum: u32,
    /// A number that the maker chose.
    pub edition: u32,
    /// The number of blocks.
    pub blocks: u32,
    /// The number of inodes.
    pub files: u32,
    /// The name of the volume, padded with NUL.
    pub name: [u8; 16],
    /// The inode of the root.
    pub root: InodeFields,
}

impl SuperblockFields {
    /// Returns the version: 2 with a checksum and counts, else 1.
    pub fn version(&self) -> u32 {
        if self.flags.has(Flags::VERSION_2) {
            2
        } else {
            1
        }
    }

    /// Returns the name of the volume up to the first NUL.
    pub fn label(&self) -> &[u8] {
        let end = self.name.iter().position(|byte| *byte == 0);
        self.name.get(..end.unwrap_or(16)).unwrap_or_default()
    }

    /// Encodes the superblock.
    pub fn encode(&self) -> [u8; SUPERBLOCK_LEN] {
        let mut bytes = [0; SUPERBLOCK_LEN];
        let mut put = |at: usize, part: &[u8]| {
            if let Some(room) = bytes.get_mut(at..at + part.len()) {
                room.copy_from_slice(part);
            }
        };
        let words = [
            (0, MAGIC),
            (4, u32::try_from(self.size).unwrap_or(u32::MAX)),
            (8, self.flags.0),
            (CHECKSUM_AT, self.checksum),
            (36, self.edition),
            (40, self.blocks),
            (44, self.files),
        ];
        for (at, word) in words {
            put(at, &self.order.bytes(word));
        }
        put(16, SIGNATURE);
        put(48, &self.name);
        put(ROOT_AT, &self.root.encode(self.order));
        bytes
    }

    /// Reads the superblock of the image at the start of a window. `Invalid` if there is no image,
    /// `Unsupported` for unknown flags, `Corrupt` if it is inconsistent.
    pub(super) fn read(window: &dyn ReadAt) -> Result<Self> {
        for at in [0, PADDING] {
            if let Some((order, bytes)) = bytes_at(window, at)? {
                let head = Self::decode(at, order, &bytes);
                return head.check(window.len());
            }
        }
        Err(Error::invalid("no CRAMFS image"))
    }

    fn decode(at: u64, order: ByteOrder, bytes: &[u8; SUPERBLOCK_LEN]) -> Self {
        let word = |at: usize| order.word(part(bytes, at));
        Self {
            at,
            order,
            size: word(4).into(),
            flags: Flags(word(8)),
            checksum: word(CHECKSUM_AT),
            edition: word(36),
            blocks: word(40),
            files: word(44),
            name: part(bytes, 48),
            root: InodeFields::decode(order, &part::<INODE_LEN>(bytes, ROOT_AT)),
        }
    }

    /// Checks size and flags; `len` is the number of bytes up to the end of the file.
    fn check(mut self, len: u64) -> Result<Self> {
        let unknown = self.flags.0 & !Flags::KNOWN;
        if unknown != 0 {
            return Err(Error::unsupported(format!("unknown flags {unknown:#x}")));
        }
        if self.version() == 1 {
            self.size = len.min(OFFSET_LIMIT);
        }
        if self.size > len {
            let size = self.size;
            let what = format!("truncated: an image of {size} bytes, of which there are {len}");
            return Err(Error::corrupt(what));
        }
        if self.size < self.at + SUPERBLOCK_LEN as u64 {
            let size = self.size;
            return Err(Error::corrupt(format!("an image of {size} bytes")));
        }
        Ok(self)
    }
}

/// Returns whether there is an image at an offset, with or without padding.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    for padding in [0, PADDING] {
        let Some(at) = offset.checked_add(padding) else {
            continue;
        };
        if bytes_at(source, at)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the bytes of the superblock at an offset with its byte order, if there is one.
fn bytes_at(source: &dyn ReadAt, at: u64) -> Result<Option<(ByteOrder, [u8; SUPERBLOCK_LEN])>> {
    let end = at.checked_add(SUPERBLOCK_LEN as u64);
    if end.is_none_or(|end| end > source.len()) {
        return Ok(None);
    }
    let mut bytes = [0; SUPERBLOCK_LEN];
    source.read_at(at, &mut bytes)?;
    let magic = part(&bytes, 0);
    let order = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
        (MAGIC, _) => ByteOrder::Little,
        (_, MAGIC) => ByteOrder::Big,
        _ => return Ok(None),
    };
    Ok((&part(&bytes, 16) == SIGNATURE).then_some((order, bytes)))
}

/// Returns a part of the superblock; zeros past its end.
fn part<const N: usize>(bytes: &[u8; SUPERBLOCK_LEN], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or([0; N])
}
