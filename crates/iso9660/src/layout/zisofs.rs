//! zisofs: the headers of compressed files, and the entries that announce them.
//!
//! In: the first bytes of a file, or the data of a ZF or Z2 entry. Out: the same fields of both.

use super::numbers::{both32, le32, le64};

/// The magic number of version 1.
const MAGIC_1: [u8; 8] = [0x37, 0xe4, 0x53, 0x96, 0xc9, 0xdb, 0xd6, 0x07];
/// The magic number of version 2.
const MAGIC_2: [u8; 8] = [0xef, 0x22, 0x55, 0xa1, 0xbc, 0x1b, 0x95, 0xa0];

/// The version of zisofs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZisofsVersion {
    /// Files below 4 GiB, zlib, pointers of 4 bytes.
    V1,
    /// Files of any size, several algorithms, pointers of 8 bytes.
    V2,
}

impl ZisofsVersion {
    /// Returns the length of a header in bytes.
    pub const fn header_len(self) -> usize {
        match self {
            Self::V1 => 16,
            Self::V2 => 24,
        }
    }

    /// Returns the length of a block pointer in bytes.
    pub const fn pointer_len(self) -> u64 {
        match self {
            Self::V1 => 4,
            Self::V2 => 8,
        }
    }

    /// Returns the largest block size as a power of two.
    pub const fn block_bits_max(self) -> u8 {
        match self {
            Self::V1 => 17,
            Self::V2 => 20,
        }
    }
}

/// The compression of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZisofsAlgorithm {
    /// zlib.
    Zlib,
    /// xz.
    Xz,
    /// LZ4.
    Lz4,
    /// zstd.
    Zstd,
    /// bzip2.
    Bzip2,
}

impl ZisofsAlgorithm {
    /// All algorithms, by their numbers from 1 on, with their letters in entries.
    pub const ALL: [(Self, [u8; 2], &'static str); 5] = [
        (Self::Zlib, *b"PZ", "zlib"),
        (Self::Xz, *b"XZ", "xz"),
        (Self::Lz4, *b"L4", "lz4"),
        (Self::Zstd, *b"ZD", "zstd"),
        (Self::Bzip2, *b"B2", "bzip2"),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL
            .iter()
            .find(|(algorithm, _, _)| *algorithm == self);
        found.map_or("", |(_, _, name)| name)
    }

    fn from_number(number: u8) -> Option<Self> {
        let index = usize::from(number.checked_sub(1)?);
        Self::ALL.get(index).map(|(algorithm, _, _)| *algorithm)
    }

    fn from_letters(letters: [u8; 2]) -> Option<Self> {
        let letters = letters.map(|letter| letter.to_ascii_uppercase());
        let found = Self::ALL.iter().find(|(_, known, _)| *known == letters);
        found.map(|(algorithm, _, _)| *algorithm)
    }
}

/// The fields of the header of a compressed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ZisofsHeader {
    /// The version.
    pub version: ZisofsVersion,
    /// The compression of blocks.
    pub algorithm: ZisofsAlgorithm,
    /// Bytes before the block pointers, in words of four bytes.
    pub header_words: u8,
    /// The block size as a power of two.
    pub block_bits: u8,
    /// Bytes of content.
    pub size: u64,
}

impl ZisofsHeader {
    /// Decodes the first bytes of a file; `None` if it is not compressed, or in an unknown way.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let byte = |at: usize| rest.get(at).copied();
        let header = if *magic == MAGIC_1 {
            Self {
                version: ZisofsVersion::V1,
                algorithm: ZisofsAlgorithm::Zlib,
                header_words: byte(4)?,
                block_bits: byte(5)?,
                size: le32(rest, 0).into(),
            }
        } else if *magic == MAGIC_2 && byte(0)? == 0 {
            Self {
                version: ZisofsVersion::V2,
                algorithm: ZisofsAlgorithm::from_number(byte(2)?)?,
                header_words: byte(1)?,
                block_bits: byte(3)?,
                size: le64(rest, 4),
            }
        } else {
            return None;
        };
        (bytes.len() >= header.version.header_len() && header.is_usable()).then_some(header)
    }

    /// Decodes the data of a ZF or Z2 entry; `None` if its version or algorithm is unknown.
    pub fn from_entry(version: u8, data: &[u8]) -> Option<Self> {
        let &[a, b, header_words, block_bits, ..] = data.first_chunk::<12>()?;
        let header = match version {
            1 if [a, b] == *b"pz" => Self {
                version: ZisofsVersion::V1,
                algorithm: ZisofsAlgorithm::Zlib,
                header_words,
                block_bits,
                size: le32(data, 4).into(),
            },
            2 => Self {
                version: ZisofsVersion::V2,
                algorithm: ZisofsAlgorithm::from_letters([a, b])?,
                header_words,
                block_bits,
                size: le64(data, 4),
            },
            _ => return None,
        };
        header.is_usable().then_some(header)
    }

    fn is_usable(&self) -> bool {
        let bits = 15..=self.version.block_bits_max();
        usize::from(self.header_words) * 4 >= self.version.header_len()
            && bits.contains(&self.block_bits)
    }

    /// Encodes the header, without what follows the fields known.
    pub fn encode(&self) -> Vec<u8> {
        let number = ZisofsAlgorithm::ALL
            .iter()
            .position(|row| row.0 == self.algorithm);
        let number = number.and_then(|index| u8::try_from(index + 1).ok());
        let (words, bits) = (self.header_words, self.block_bits);
        match self.version {
            ZisofsVersion::V1 => {
                let size = u32::try_from(self.size).unwrap_or(u32::MAX);
                [&MAGIC_1[..], &size.to_le_bytes(), &[words, bits, 0, 0]].concat()
            }
            ZisofsVersion::V2 => {
                let known = [0, words, number.unwrap_or(0), bits];
                [&MAGIC_2[..], &known, &self.size.to_le_bytes(), &[0; 4]].concat()
            }
        }
    }

    /// Encodes the data of an entry.
    pub fn encode_entry(&self) -> Vec<u8> {
        let row = ZisofsAlgorithm::ALL
            .iter()
            .find(|row| row.0 == self.algorithm);
        let letters = row.map_or(*b"PZ", |row| row.1);
        let tail = [self.header_words, self.block_bits];
        match self.version {
            ZisofsVersion::V1 => {
                let size = u32::try_from(self.size).unwrap_or(u32::MAX);
                [b"pz", &tail[..], &both32(size)].concat()
            }
            ZisofsVersion::V2 => [&letters[..], &tail, &self.size.to_le_bytes()].concat(),
        }
    }

    /// Returns the block size in bytes.
    pub fn block_size(&self) -> u64 {
        1 << self.block_bits
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> u64 {
        self.size.div_ceil(self.block_size())
    }

    /// Returns the offset of the first block pointer in bytes.
    pub fn pointers(&self) -> u64 {
        u64::from(self.header_words) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_entries_round_trip() {
        for (version, algorithm) in [
            (ZisofsVersion::V1, ZisofsAlgorithm::Zlib),
            (ZisofsVersion::V2, ZisofsAlgorithm::Zlib),
            (ZisofsVersion::V2, ZisofsAlgorithm::Bzip2),
        ] {
            let header = ZisofsHeader {
                version,
                algorithm,
                header_words: (version.header_len() / 4) as u8,
                block_bits: 17,
                size: 1_234_567,
            };
            let bytes = header.encode();
            assert_eq!(bytes.len(), version.header_len());
            assert_eq!(ZisofsHeader::decode(&bytes), Some(header));
            assert_eq!(ZisofsHeader::decode(&bytes[..15]), None);
            let entry = header.encode_entry();
            let number = if version == ZisofsVersion::V1 { 1 } else { 2 };
            assert_eq!(ZisofsHeader::from_entry(number, &entry), Some(header));
            assert_eq!(ZisofsHeader::from_entry(3, &entry), None);
        }
        // the example of the description
        let example = [b'p', b'z', 4, 15, 0x87, 0xD6, 0x12, 0, 0, 0x12, 0xD6, 0x87];
        let header = ZisofsHeader::from_entry(1, &example).unwrap();
        assert_eq!((header.size, header.blocks()), (1_234_567, 38));
    }
}
