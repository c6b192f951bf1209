//! What can be asked of the writer.

use std::str::FromStr;

use sinterfs_model::{Error, Result, TailPlacement};

use super::compression::Compression;
use crate::layout::{BLOCK_SIZE_MAX, BLOCK_SIZE_MIN, Flags};

/// How an image is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Bytes of a block: a power of two from 4 KiB to 1 MiB.
    pub block_size: u32,
    /// The codec of everything.
    pub compression: Compression,
    /// What is stored without compression.
    pub raw: UncompressedParts,
    /// What becomes of the ends of files.
    pub tails: TailPlacement,
    /// Whether blocks of zeros are holes.
    pub holes: bool,
    /// Whether equal files are known to be stored once; readers are told, and nothing else.
    pub duplicates: bool,
    /// Whether there is a table of all inodes, for NFS.
    pub export: bool,
    /// Whether extended attributes are kept.
    pub xattrs: bool,
    /// Whether the image is filled up to a multiple of 4 KiB, as drivers of block devices need it.
    pub pad: bool,
    /// When the image was made, in seconds since 1970; `None` means the latest time of its files.
    pub made: Option<u64>,
    /// Threads that encode metadata; the bytes do not depend on it.
    pub threads: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            block_size: 128 << 10,
            compression: Compression::default(),
            raw: UncompressedParts::default(),
            tails: TailPlacement::Small,
            holes: true,
            duplicates: true,
            export: true,
            xattrs: true,
            pad: true,
            made: None,
            threads: 1,
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for what the format does not have.
    pub(super) fn check(&self) -> Result<()> {
        let size = self.block_size;
        if !size.is_power_of_two() || !(BLOCK_SIZE_MIN..=BLOCK_SIZE_MAX).contains(&size) {
            return Err(Error::invalid(format!(
                "block size {size}: SquashFS has powers of two from 4 KiB to 1 MiB"
            )));
        }
        self.compression.check(size)
    }

    /// Returns the bits of the superblock that these options set.
    pub(super) fn flags(&self) -> u16 {
        let bits = [
            (self.raw.has(UncompressedPart::Inodes), Flags::RAW_INODES),
            (self.raw.has(UncompressedPart::Data), Flags::RAW_DATA),
            (
                self.raw.has(UncompressedPart::Fragments),
                Flags::RAW_FRAGMENTS,
            ),
            (self.raw.has(UncompressedPart::Xattrs), Flags::RAW_XATTRS),
            (self.raw.has(UncompressedPart::Ids), Flags::RAW_IDS),
            (self.tails == TailPlacement::Alone, Flags::NO_FRAGMENTS),
            (self.tails == TailPlacement::Shared, Flags::ALWAYS_FRAGMENTS),
            (self.duplicates, Flags::DUPLICATES),
            (self.export, Flags::EXPORTABLE),
            (!self.xattrs, Flags::NO_XATTRS),
        ];
        bits.iter()
            .fold(0, |all, &(set, bit)| if set { all | bit } else { all })
    }
}

/// A part of an image that can be stored without compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UncompressedPart {
    /// Inodes and directories.
    Inodes,
    /// Blocks of single files.
    Data,
    /// Blocks of the ends of several files, and their table.
    Fragments,
    /// Extended attributes.
    Xattrs,
    /// Owners and groups.
    Ids,
}

impl UncompressedPart {
    /// All parts by their names.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("inodes", Self::Inodes),
        ("data", Self::Data),
        ("fragments", Self::Fragments),
        ("xattrs", Self::Xattrs),
        ("ids", Self::Ids),
    ];
}

/// Some parts of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UncompressedParts(u8);

impl UncompressedParts {
    /// Adds a part.
    #[must_use]
    pub const fn with(self, part: UncompressedPart) -> Self {
        Self(self.0 | (1 << part as u8))
    }

    /// Returns whether a part is among them.
    pub const fn has(self, part: UncompressedPart) -> bool {
        self.0 & (1 << part as u8) != 0
    }
}

impl FromStr for UncompressedParts {
    type Err = Error;

    /// Reads names with commas between them; `all` is all of them.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = Self::default();
        for word in text.split(',') {
            let mut known = false;
            for (name, part) in UncompressedPart::NAMES {
                if word == name || word == "all" {
                    parts = parts.with(part);
                    known = true;
                }
            }
            if !known {
                let names = UncompressedPart::NAMES.map(|(name, _)| name).join(", ");
                return Err(Error::invalid(format!(
                    "`{word}` is no part of a SquashFS image (these are {names}, all)"
                )));
            }
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named() {
        let parts: UncompressedParts = "data,ids".parse().unwrap();
        assert!(
            parts.has(UncompressedPart::Data)
                && parts.has(UncompressedPart::Ids)
                && !parts.has(UncompressedPart::Inodes)
        );
        let all: UncompressedParts = "all".parse().unwrap();
        assert!(
            UncompressedPart::NAMES
                .iter()
                .all(|&(_, part)| all.has(part))
        );
        assert!("".parse::<UncompressedParts>().is_err());
        assert!("data,block".parse::<UncompressedParts>().is_err());
    }

    #[test]
    fn block_sizes_of_the_format() {
        for (size, fits) in [
            (4096, true),
            (1 << 20, true),
            (2048, false),
            (1 << 21, false),
            (5000, false),
            (0, false),
        ] {
            let options = WriteOptions {
                block_size: size,
                ..WriteOptions::default()
            };
            assert_eq!(options.check().is_ok(), fits, "{size}");
        }
    }
}
