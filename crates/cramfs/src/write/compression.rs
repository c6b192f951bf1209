//! Zlib streams of blocks.
//!
//! In: the bytes of a block. Out: a stream, which is at most 11 bytes longer.

use std::str::FromStr;

use sinterfs_codec::{Choice, CodecId, Dialect, Encoding, Readers, zlib};
use sinterfs_model::{Error, Result};

/// The codecs of CRAMFS.
static DIALECT: Dialect = Dialect {
    format: Some("CRAMFS"),
    readers: Readers::Kernels,
    choices: &[
        Choice {
            names: &["none"],
            codec: CodecId::Null,
            level: None,
        },
        Choice {
            names: &["zlib", "gzip"],
            codec: CodecId::Zlib,
            level: Some(9),
        },
    ],
};

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
            Self::Zlib(level) => {
                Encoding::at_level(CodecId::Zlib, level)?.encode_unit(raw, None)?
            }
        };
        Ok(encoded.unwrap_or_else(|| zlib::stored(raw)))
    }
}

impl FromStr for ZlibCompression {
    type Err = Error;

    /// Parses `none`, `zlib`, or `zlib:level=N`; `gzip` is another name of zlib.
    fn from_str(text: &str) -> Result<Self> {
        let encoding = DIALECT.parse(text)?;
        Ok(match encoding.codec() {
            CodecId::Zlib => Self::Zlib(encoding.level()),
            _ => Self::Stored,
        })
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_codec::CodecId;
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
                let found = CodecId::Zlib.decode(&stream, &mut decoded).unwrap();
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
