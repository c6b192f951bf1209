//! Zlib streams of blocks.
//!
//! In: the bytes of a block. Out: a stream, which is at most 11 bytes longer.

use std::str::FromStr;

use sinterfs_codec::unit::encode;
use sinterfs_model::{Error, Result};

/// The compression of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZlibCompression {
    /// Not at all: in streams that store bytes as they are.
    Stored,
    /// With a level from 1 to 12.
    Zlib(i32),
}

impl ZlibCompression {
    /// Encodes the bytes of a block, fewer than 64 KiB of which are stored as they are if that is
    /// shorter.
    pub(super) fn encode(self, raw: &[u8]) -> Result<Vec<u8>> {
        let encoded = match self {
            Self::Stored => None,
            Self::Zlib(level) => encode::zlib(raw, level)?,
        };
        Ok(encoded.unwrap_or_else(|| encode::stored_zlib(raw)))
    }
}

impl FromStr for ZlibCompression {
    type Err = Error;

    /// Parses `none`, `zlib`, or `zlib:level=N`; `gzip` is another name of zlib.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::invalid(format!(
                "compression `{text}`: CRAMFS has zlib, with `level=1` to `level=12`, and none"
            ))
        };
        let (codec, options) = text.split_once(':').unwrap_or((text, ""));
        match (codec, options) {
            ("none", "") => Ok(Self::Stored),
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
    use sinterfs_codec::unit::UnitCodec;
    use sinterfs_testkit::noise;

    use super::*;

    #[test]
    fn incompressible_blocks_are_stored() {
        for len in [1, 4096, 65535, 65536, 200_000] {
            let raw = noise(7, len);
            for compression in [ZlibCompression::Stored, ZlibCompression::Zlib(9)] {
                let stream = compression.encode(&raw).unwrap();
                assert!(stream.len() <= len + 6 + 5 * len.div_ceil(65535));
                let mut decoded = vec![0; len];
                let found = UnitCodec::Zlib.decode(&stream, &mut decoded).unwrap();
                assert!(found == len && decoded == raw, "{len}");
            }
        }
    }

    #[test]
    fn levels_are_parsed() {
        assert_eq!(
            "none".parse::<ZlibCompression>().unwrap(),
            ZlibCompression::Stored
        );
        let level = "gzip:level=12".parse::<ZlibCompression>().unwrap();
        assert_eq!(level, ZlibCompression::Zlib(12));
        for bad in [
            "",
            "zstd",
            "zlib:level=0",
            "zlib:level=13",
            "zlib:x",
            "none:level=1",
        ] {
            assert!(bad.parse::<ZlibCompression>().is_err(), "{bad}");
        }
    }
}
