//! The bytes of WIM: the header, references to resources, and entries of the blob table.
//!
//! In: bytes of an image, or fields. Out: fields, or bytes. Nothing is checked here but lengths.
//!
//! **Invariant:** what is decoded from encoded fields equals them. Format: `docs/formats/wim.md`.

use sinterfs_block::checksum::Sha1Digest;

/// The first bytes of a file.
pub const MAGIC: &[u8; 8] = b"MSWIM\0\0\0";

/// The first bytes of a file that can be written to a pipe.
pub const PIPABLE_MAGIC: &[u8; 8] = b"WLPWM\0\0\0";

/// The length of the header in bytes.
pub const HEADER_LEN: usize = 208;

/// The length of an entry of the blob table in bytes.
pub const BLOB_ENTRY_LEN: usize = 50;

/// The version of files without solid resources.
pub const VERSION: u32 = 0x10d00;

/// The version of files with solid resources.
pub const SOLID_VERSION: u32 = 0xe00;

/// The decoded length that the entry of a solid resource has.
pub const SOLID_LEN: u64 = 1 << 32;

/// Bytes before the chunk table of a solid resource.
pub const SOLID_HEADER_LEN: u64 = 16;

/// The largest chunk in bytes.
pub const MAX_CHUNK: u32 = 1 << 30;

/// Flags of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderFlags(pub u32);

impl HeaderFlags {
    /// Resources may be compressed.
    pub const COMPRESSION: u32 = 0x2;
    /// The file is not to be changed.
    pub const READ_ONLY: u32 = 0x4;
    /// A program was writing the file.
    pub const WRITE_IN_PROGRESS: u32 = 0x40;
    /// Targets of links were made relative to the root of the image.
    pub const FIXED_LINKS: u32 = 0x80;
    /// Compressed by XPRESS.
    pub const XPRESS: u32 = 0x2_0000;
    /// Compressed by LZX.
    pub const LZX: u32 = 0x4_0000;
    /// Compressed by LZMS.
    pub const LZMS: u32 = 0x8_0000;
    /// Compressed by XPRESS, another number for it.
    pub const XPRESS_2: u32 = 0x20_0000;

    /// Returns whether a flag is set.
    pub fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

/// A codec of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WimCodec {
    /// XPRESS with Huffman codes.
    Xpress,
    /// LZX.
    Lzx,
    /// LZMS.
    Lzms,
}

impl WimCodec {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xpress => "xpress",
            Self::Lzx => "lzx",
            Self::Lzms => "lzms",
        }
    }

    /// Returns the codec of a number in the header of a solid resource.
    pub fn from_solid(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Xpress),
            2 => Some(Self::Lzx),
            3 => Some(Self::Lzms),
            _ => None,
        }
    }

    /// Returns the number in the header of a solid resource.
    pub fn number(self) -> u32 {
        match self {
            Self::Xpress => 1,
            Self::Lzx => 2,
            Self::Lzms => 3,
        }
    }

    /// Returns the smallest and the largest chunk size in bytes.
    pub fn chunk_sizes(self) -> (u32, u32) {
        match self {
            Self::Xpress => (1 << 12, 1 << 16),
            Self::Lzx => (1 << 15, 1 << 21),
            Self::Lzms => (1 << 15, MAX_CHUNK),
        }
    }
}

/// Flags of a reference to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceFlags(pub u8);

impl ResourceFlags {
    /// Metadata of an image.
    pub const METADATA: u8 = 0x2;
    /// Compressed.
    pub const COMPRESSED: u8 = 0x4;
    /// A solid resource, or a blob in one.
    pub const SOLID: u8 = 0x10;

    /// Returns whether a flag is set.
    pub fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// A reference to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceEntry {
    /// Stored bytes; of a blob in a solid resource its decoded bytes.
    pub stored: u64,
    /// Flags.
    pub flags: ResourceFlags,
    /// The position in the file; of a blob in a solid resource that in the decoded content.
    pub at: u64,
    /// Decoded bytes.
    pub len: u64,
}

impl ResourceEntry {
    /// The length of a reference in bytes.
    pub const LEN: usize = 24;

    /// Decodes a reference.
    pub fn decode(bytes: &[u8; Self::LEN]) -> Self {
        let first = long(bytes, 0);
        Self {
            stored: first & ((1 << 56) - 1),
            flags: ResourceFlags(bytes.get(7).copied().unwrap_or(0)),
            at: long(bytes, 8),
            len: long(bytes, 16),
        }
    }

    /// Encodes the reference.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let first = self.stored | (u64::from(self.flags.0) << 56);
        let mut bytes = [0; Self::LEN];
        let words = [first, self.at, self.len];
        for (room, word) in bytes.chunks_exact_mut(8).zip(words) {
            room.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// An entry of the blob table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobEntry {
    /// The location of the content.
    pub resource: ResourceEntry,
    /// The number of the part that has the content, from 1 on.
    pub part: u16,
    /// The number of files that refer to the content.
    pub references: u32,
    /// The SHA-1 of the content.
    pub digest: Sha1Digest,
}

impl BlobEntry {
    /// Decodes an entry.
    pub fn decode(bytes: &[u8; BLOB_ENTRY_LEN]) -> Self {
        Self {
            resource: ResourceEntry::decode(&part(bytes, 0)),
            part: u16::from_le_bytes(part(bytes, 24)),
            references: u32::from_le_bytes(part(bytes, 26)),
            digest: part(bytes, 30),
        }
    }

    /// Encodes the entry.
    pub fn encode(&self) -> [u8; BLOB_ENTRY_LEN] {
        let fields = [
            &self.resource.encode()[..],
            &self.part.to_le_bytes(),
            &self.references.to_le_bytes(),
            &self.digest,
        ];
        let mut bytes = [0; BLOB_ENTRY_LEN];
        for (room, byte) in bytes.iter_mut().zip(fields.concat()) {
            *room = byte;
        }
        bytes
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WimHeader {
    /// Whether the file can be written to a pipe.
    pub is_pipable: bool,
    /// The version.
    pub version: u32,
    /// Flags.
    pub flags: HeaderFlags,
    /// The chunk size of compressed resources in bytes.
    pub chunk_size: u32,
    /// The fields that all parts of one image share.
    pub guid: [u8; 16],
    /// The number of this part, from 1 on.
    pub part: u16,
    /// The number of parts.
    pub parts: u16,
    /// The number of images.
    pub images: u32,
    /// The blob table.
    pub blobs: ResourceEntry,
    /// The XML data.
    pub xml: ResourceEntry,
    /// The metadata of the image that is booted.
    pub boot: ResourceEntry,
    /// The number of the image that is booted, from 1 on; 0 for none.
    pub boot_image: u32,
    /// Digests of the file.
    pub integrity: ResourceEntry,
}

impl WimHeader {
    /// Decodes a header; `None` if it has no magic number.
    pub fn decode(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let magic = part::<8>(bytes, 0);
        if &magic != MAGIC && &magic != PIPABLE_MAGIC {
            return None;
        }
        let reference = |at: usize| ResourceEntry::decode(&part(bytes, at));
        Some(Self {
            is_pipable: &magic == PIPABLE_MAGIC,
            version: word(bytes, 12),
            flags: HeaderFlags(word(bytes, 16)),
            chunk_size: word(bytes, 20),
            guid: part(bytes, 24),
            part: u16::from_le_bytes(part(bytes, 40)),
            parts: u16::from_le_bytes(part(bytes, 42)),
            images: word(bytes, 44),
            blobs: reference(48),
            xml: reference(72),
            boot: reference(96),
            boot_image: word(bytes, 120),
            integrity: reference(124),
        })
    }

    /// Returns the header of a file without anything in it.
    pub fn empty() -> Self {
        Self {
            is_pipable: false,
            version: VERSION,
            flags: HeaderFlags::default(),
            chunk_size: 0,
            guid: [0; 16],
            part: 1,
            parts: 1,
            images: 0,
            blobs: ResourceEntry::default(),
            xml: ResourceEntry::default(),
            boot: ResourceEntry::default(),
            boot_image: 0,
            integrity: ResourceEntry::default(),
        }
    }

    /// Encodes the header.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let magic = if self.is_pipable {
            PIPABLE_MAGIC
        } else {
            MAGIC
        };
        let len = u32::try_from(HEADER_LEN).unwrap_or(0);
        let fields = [
            &magic[..],
            &len.to_le_bytes(),
            &self.version.to_le_bytes(),
            &self.flags.0.to_le_bytes(),
            &self.chunk_size.to_le_bytes(),
            &self.guid,
            &self.part.to_le_bytes(),
            &self.parts.to_le_bytes(),
            &self.images.to_le_bytes(),
            &self.blobs.encode(),
            &self.xml.encode(),
            &self.boot.encode(),
            &self.boot_image.to_le_bytes(),
            &self.integrity.encode(),
        ];
        let mut bytes = [0; HEADER_LEN];
        for (room, byte) in bytes.iter_mut().zip(fields.concat()) {
            *room = byte;
        }
        bytes
    }

    /// Returns the codec of resources that are not solid; `None` for no compression.
    pub fn codec(&self) -> Option<WimCodec> {
        let flags = self.flags;
        if flags.has(HeaderFlags::LZMS) {
            Some(WimCodec::Lzms)
        } else if flags.has(HeaderFlags::LZX) {
            Some(WimCodec::Lzx)
        } else if flags.has(HeaderFlags::XPRESS | HeaderFlags::XPRESS_2) {
            Some(WimCodec::Xpress)
        } else {
            None
        }
    }
}

/// Returns bytes of a structure; zeros past its end.
pub(crate) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or([0; N])
}

/// Returns a number of 4 bytes in a structure.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(part(bytes, at))
}

/// Returns a number of 8 bytes in a structure.
pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(part(bytes, at))
}

/// Returns a number of 2 bytes in a structure.
pub(crate) fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(part(bytes, at))
}

/// Attributes of Windows.
pub mod attributes {
    /// The file is not to be written.
    pub const READ_ONLY: u32 = 0x1;
    /// The file is a directory.
    pub const DIRECTORY: u32 = 0x10;
    /// The file has no other attributes.
    pub const NORMAL: u32 = 0x80;
    /// The file has a reparse point.
    pub const REPARSE_POINT: u32 = 0x400;
}

/// Tags of reparse points.
pub mod reparse {
    /// A directory at another place.
    pub const JUNCTION: u32 = 0xa000_0003;
    /// A symlink.
    pub const SYMLINK: u32 = 0xa000_000c;
    /// A symlink of Linux programs on Windows.
    pub const LX_SYMLINK: u32 = 0xa000_001d;
    /// A socket.
    pub const AF_UNIX: u32 = 0x8000_0023;
    /// A fifo of Linux programs on Windows.
    pub const LX_FIFO: u32 = 0x8000_0024;
    /// A character device of Linux programs on Windows.
    pub const LX_CHAR: u32 = 0x8000_0025;
    /// A block device of Linux programs on Windows.
    pub const LX_BLOCK: u32 = 0x8000_0026;
}

/// Tags of items after the names of a directory entry.
pub mod items {
    /// The object ID of NTFS.
    pub const OBJECT_ID: u32 = 0x1;
    /// Extended attributes.
    pub const XATTRS: u32 = 0x2;
    /// Owner, mode and device number.
    pub const UNIX_DATA: u32 = 0x337d_d873;
    /// Extended attributes as wimlib 1.11 stored them.
    pub const OLD_XATTRS: u32 = 0x337d_d874;
}
