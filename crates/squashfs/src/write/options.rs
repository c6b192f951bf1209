//! Options of the writer.
//!
//! In: the caller's choices. Out: the same, checked once.

use std::str::FromStr;

use sinterfs_format::{OptionRow, OptionTable};
use sinterfs_model::{Error, Result, TailPlacement};

use super::compression::Compression;
use crate::layout::{BLOCK_SIZE_MAX, BLOCK_SIZE_MIN, Flags};

/// The options of SquashFS images that not all formats have.
#[derive(Debug, Clone)]
pub struct SquashfsOptions {
    /// The placement of tails.
    pub tails: TailPlacement,
    /// The parts that are stored uncompressed; `None` means all of them at level 0, else none.
    pub uncompressed: Option<UncompressedParts>,
    /// Whether blocks of zeros are holes.
    pub holes: bool,
    /// Whether an export table is written, for NFS.
    pub exports: bool,
    /// Whether the image is padded to a multiple of 4 KiB, which block devices need.
    pub padding: bool,
}

impl Default for SquashfsOptions {
    fn default() -> Self {
        Self {
            tails: TailPlacement::Small,
            uncompressed: None,
            holes: true,
            exports: true,
            padding: true,
        }
    }
}

impl OptionTable for SquashfsOptions {
    const ROWS: &'static [OptionRow<Self>] = &[
        ("tails", |own, text| {
            own.tails = match text.text()? {
                "small" => TailPlacement::Small,
                "shared" => TailPlacement::Shared,
                "alone" => TailPlacement::Alone,
                other => {
                    let what = format!("tails `{other}`: must be small, shared or alone");
                    return Err(Error::invalid(what));
                }
            };
            Ok(())
        }),
        ("uncompressed", |own, text| {
            let UncompressedParts(more) = text.text()?.parse()?;
            let UncompressedParts(parts) = own.uncompressed.unwrap_or_default();
            own.uncompressed = Some(UncompressedParts(parts | more));
            Ok(())
        }),
        ("holes", |own, text| text.switch(&mut own.holes)),
        ("exports", |own, text| text.switch(&mut own.exports)),
        ("padding", |own, text| text.switch(&mut own.padding)),
    ];
}

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The block size in bytes: a power of two from 4 KiB to 1 MiB.
    pub block_size: u32,
    /// The compression.
    pub compression: Compression,
    /// Whether the flag is set that equal files are stored once; it has no other effect.
    pub duplicates: bool,
    /// Whether extended attributes are kept.
    pub xattrs: bool,
    /// The creation time in seconds since 1970; `None` means the latest time of its files.
    pub made: Option<u64>,
    /// The number of threads that encode metadata; does not affect the image.
    pub threads: usize,
    /// The options of this format.
    pub own: SquashfsOptions,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            block_size: 128 << 10,
            compression: Compression::default(),
            duplicates: true,
            xattrs: true,
            made: None,
            threads: 1,
            own: SquashfsOptions::default(),
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for unsupported values.
    pub(super) fn check(&self) -> Result<()> {
        let size = self.block_size;
        if !size.is_power_of_two() || !(BLOCK_SIZE_MIN..=BLOCK_SIZE_MAX).contains(&size) {
            return Err(Error::invalid(format!(
                "block size {size}: must be a power of two from 4 KiB to 1 MiB"
            )));
        }
        self.compression.check(size)
    }

    /// Returns the parts that are stored uncompressed.
    pub(super) fn raw(&self) -> UncompressedParts {
        self.own.uncompressed.unwrap_or_default()
    }

    /// Returns the flags of the superblock that these options set.
    pub(super) fn flags(&self) -> u16 {
        let raw = self.raw();
        let own = &self.own;
        let bits = [
            (raw.has(UncompressedPart::Inodes), Flags::RAW_INODES),
            (raw.has(UncompressedPart::Data), Flags::RAW_DATA),
            (raw.has(UncompressedPart::Fragments), Flags::RAW_FRAGMENTS),
            (raw.has(UncompressedPart::Xattrs), Flags::RAW_XATTRS),
            (raw.has(UncompressedPart::Ids), Flags::RAW_IDS),
            (own.tails == TailPlacement::Alone, Flags::NO_FRAGMENTS),
            (own.tails == TailPlacement::Shared, Flags::ALWAYS_FRAGMENTS),
            (self.duplicates, Flags::DUPLICATES),
            (own.exports, Flags::EXPORTABLE),
            (!self.xattrs, Flags::NO_XATTRS),
        ];
        bits.iter()
            .fold(0, |all, &(set, bit)| if set { all | bit } else { all })
    }
}

/// A part of an image that can be stored uncompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UncompressedPart {
    /// Inodes and directories.
    Inodes,
    /// Blocks of single files.
    Data,
    /// Fragment blocks and their table.
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

/// A set of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UncompressedParts(u8);

impl UncompressedParts {
    /// All parts.
    pub const ALL: Self = Self(0b1_1111);

    /// Adds a part.
    #[must_use]
    pub const fn with(self, part: UncompressedPart) -> Self {
        Self(self.0 | (1 << part as u8))
    }

    /// Returns whether the set contains a part.
    pub const fn has(self, part: UncompressedPart) -> bool {
        self.0 & (1 << part as u8) != 0
    }
}

impl FromStr for UncompressedParts {
    type Err = Error;

    /// Parses a comma-separated list of names; `all` means all parts.
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
                    "`{word}` is not a part of a SquashFS image (known are {names}, all)"
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
