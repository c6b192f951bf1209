//! Compression of units: zlib streams, as zisofs has them.
//!
//! In: the bytes of a unit. Out: a stored unit, whose first byte says what follows.

use std::str::FromStr;

use sinterfs_codec::{CodecId, Encoding, zlib};
use sinterfs_model::{Error, Result};

/// The compression of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZisofsCompression {
    /// Not at all.
    Plain,
    /// By zisofs, with a zlib level from 1 to 12.
    Zlib(i32),
}

/// A unit that was encoded, before it is known whether its file is compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EncodedUnit<'a> {
    /// Only zeros.
    Zeros,
    /// As it is: it does not get smaller.
    Raw(&'a [u8]),
    /// A zlib stream.
    Zlib(&'a [u8]),
}

impl ZisofsCompression {
    /// Encodes a unit, which may be a whole block or the end of a file.
    pub(super) fn encode(self, raw: &[u8], is_whole: bool) -> Result<Vec<u8>> {
        let Self::Zlib(level) = self else {
            return Ok([&[1], raw].concat());
        };
        // of a block without bytes bsdtar makes a whole one, also at the end of a file
        if is_whole && raw.iter().all(|byte| *byte == 0) {
            return Ok(vec![0]);
        }
        let encoded = Encoding::at_level(CodecId::Zlib, level)?.encode_unit(raw, None)?;
        Ok(match encoded {
            Some(stream) => [&[2], &stream[..]].concat(),
            None => [&[1], raw].concat(),
        })
    }
}

impl<'a> EncodedUnit<'a> {
    /// Splits what [`ZisofsCompression::encode`] made.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((0, [])) => Ok(Self::Zeros),
            Some((1, raw)) => Ok(Self::Raw(raw)),
            Some((2, stream)) => Ok(Self::Zlib(stream)),
            _ => Err(Error::invalid("a block that no encoder of ISO 9660 made")),
        }
    }

    /// Returns the length of the unit in a compressed file.
    pub(super) fn zisofs_len(&self) -> u64 {
        match self {
            Self::Zeros => 0,
            Self::Raw(raw) => zlib::stored_len(raw.len()) as u64,
            Self::Zlib(stream) => stream.len() as u64,
        }
    }

    /// Returns the bytes of the unit in a compressed file.
    pub(super) fn zisofs(&self) -> Vec<u8> {
        match self {
            Self::Zeros => Vec::new(),
            Self::Raw(raw) => zlib::stored(raw),
            Self::Zlib(stream) => stream.to_vec(),
        }
    }

    /// Returns the decoded bytes.
    pub(super) fn plain(&self, len: u32) -> Result<Vec<u8>> {
        let mut decoded = vec![0; len as usize];
        match self {
            Self::Zeros => {}
            Self::Raw(raw) => return Ok(raw.to_vec()),
            Self::Zlib(stream) => {
                CodecId::Zlib.decode(stream, &mut decoded)?;
            }
        }
        Ok(decoded)
    }
}

impl FromStr for ZisofsCompression {
    type Err = Error;

    /// Parses `none`, `zlib`, or `zlib:level=N`; `gzip` is another name of zlib.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::invalid(format!(
                "compression `{text}`: ISO 9660 has zlib (zisofs), with `level=1` to `level=12`, \
                 and none"
            ))
        };
        let (codec, options) = text.split_once(':').unwrap_or((text, ""));
        match (codec, options) {
            ("none", "") => Ok(Self::Plain),
            ("zlib" | "gzip", "") => Ok(Self::Zlib(9)),
            ("zlib" | "gzip", options) => {
                let level = options.strip_prefix("level=").and_then(|n| n.parse().ok());
                let level = level.filter(|level| (1..=12).contains(level));
                level.map(Self::Zlib).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_testkit::noise;

    use super::*;

    #[test]
    fn units_of_every_kind() {
        for len in [1, 4096, 65_536, 131_072] {
            for raw in [noise(7, len), vec![0; len], vec![b'x'; len]] {
                for compression in [ZisofsCompression::Plain, ZisofsCompression::Zlib(9)] {
                    let bytes = compression.encode(&raw, len == 65_536).unwrap();
                    let unit = EncodedUnit::of(&bytes).unwrap();
                    assert!(unit.plain(len as u32).unwrap() == raw);
                    let stream = unit.zisofs();
                    assert_eq!(stream.len() as u64, unit.zisofs_len());
                    if unit == EncodedUnit::Zeros {
                        continue;
                    }
                    let mut decoded = vec![0; len];
                    let found = CodecId::Zlib.decode(&stream, &mut decoded).unwrap();
                    assert!(found == len && decoded == raw, "{len}");
                }
            }
        }
        assert!(EncodedUnit::of(&[]).is_err() && EncodedUnit::of(&[3]).is_err());
        for bad in ["zstd", "zlib:level=0", "none:x"] {
            assert!(bad.parse::<ZisofsCompression>().is_err(), "{bad}");
        }
    }
}
