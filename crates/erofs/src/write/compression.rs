//! The compression of an image: one codec with its options, as text, as a value, and as readers are
//! told of it.
//!
//! In: text like `zstd:level=19`, then raw bytes. Out: streams of the codec. **Invariant:** the result
//! depends on the bytes and the options alone.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use block::codec::unit::encode;
use block::codec::{Encoding, Options};
use model::{Error, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

use super::BLOCK;
use crate::layout::compressed::{CLUSTER_MAX, DeflateConfig, Lz4Config, ZstdConfig};
use crate::read::Algorithm;

/// Names the one codec of an image, and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Nothing is compressed.
    None,
    /// LZ4 by the fast method.
    Lz4 {
        /// 0, or below for faster and larger.
        level: i32,
    },
    /// LZ4 by the high-compression method.
    Lz4Hc {
        /// The level.
        level: i32,
    },
    /// DEFLATE.
    Deflate {
        /// The level, as libdeflate has them.
        level: i32,
    },
    /// Zstandard.
    Zstd {
        /// The level; below 1 are the fast ones.
        level: i32,
    },
}

const LZ4_LEVEL: RangeInclusive<i32> = -65_536..=0;
const LZ4HC_LEVEL: RangeInclusive<i32> = 1..=12;
const ZSTD_LEVEL: RangeInclusive<i32> = -131_072..=22;

const LZ4HC_DEFAULT: i32 = 11;
const DEFLATE_DEFAULT: i32 = 9;
const ZSTD_DEFAULT: i32 = 15;

/// The shortest window of Zstandard that a reader can be told of, as a power of two.
const ZSTD_WINDOW_MIN: u32 = 10;

impl Compression {
    /// Encodes a unit; `None` if that makes it no smaller.
    pub(super) fn encode(&self, raw: &[u8]) -> Result<Option<Vec<u8>>> {
        match self {
            Self::None => Ok(None),
            Self::Lz4 { level } => encode::lz4(raw, *level),
            Self::Lz4Hc { level } => encode::lz4_hc(raw, *level),
            Self::Deflate { level } => Ok(encode::zlib::encode(raw, *level)?.map(bare)),
            Self::Zstd { level } => encode::zstd(raw, *level),
        }
    }

    /// Tells the algorithm that readers need; `None` if nothing is compressed.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        match self {
            Self::None => None,
            Self::Lz4 { .. } | Self::Lz4Hc { .. } => Some(Algorithm::Lz4),
            Self::Deflate { .. } => Some(Algorithm::Deflate),
            Self::Zstd { .. } => Some(Algorithm::Zstd),
        }
    }

    /// Gives the configuration that readers are told of, for units of so many bytes.
    pub(super) fn config(&self, unit: u32) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::Lz4 { .. } | Self::Lz4Hc { .. } => {
                let config = Lz4Config {
                    max_distance: U16::new(u16::MAX),
                    max_cluster_blocks: U16::new((CLUSTER_MAX / BLOCK) as u16),
                    reserved: [0; 10],
                };
                config.as_bytes().to_vec()
            }
            Self::Deflate { .. } => {
                let config = DeflateConfig {
                    window_bits: 15,
                    reserved: [0; 5],
                };
                config.as_bytes().to_vec()
            }
            Self::Zstd { .. } => {
                // a frame of one unit has no longer window than that
                let window = unit.trailing_zeros().max(ZSTD_WINDOW_MIN);
                let config = ZstdConfig {
                    format: 0,
                    window_log: (window - ZSTD_WINDOW_MIN) as u8,
                    reserved: [0; 4],
                };
                config.as_bytes().to_vec()
            }
        }
    }

    /// Tells how many bytes encoding a unit of `len` bytes takes at most.
    pub(super) fn memory(&self, len: u32) -> u64 {
        match *self {
            Self::None => 0,
            Self::Lz4 { level } => Encoding::Lz4 { level }.memory(len),
            Self::Lz4Hc { level } => Encoding::Lz4Hc { level }.memory(len),
            // the tables of the strongest levels of libdeflate
            Self::Deflate { .. } => 10 << 20,
            Self::Zstd { level } => Encoding::Zstd {
                level,
                window: None,
                long: false,
            }
            .memory(len),
        }
    }
}

/// Takes the header and the checksum of zlib off.
fn bare(mut stream: Vec<u8>) -> Vec<u8> {
    const HEADER: usize = 2;
    const CHECKSUM: usize = 4;
    stream.truncate(stream.len().saturating_sub(CHECKSUM));
    stream.drain(..HEADER.min(stream.len()));
    stream
}

impl Default for Compression {
    fn default() -> Self {
        Self::Zstd {
            level: ZSTD_DEFAULT,
        }
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// Reads `none`, `lz4:level=0`, `lz4hc:level=12`, `deflate:level=9`, `zstd:level=15`; every option may be left out.
    fn from_str(text: &str) -> Result<Self> {
        let mut options = Options::new(text)?;
        let compression = match options.name() {
            "none" => Self::None,
            "lz4" => Self::Lz4 {
                level: options.number(&["level"], LZ4_LEVEL)?.unwrap_or(0),
            },
            "lz4hc" => Self::Lz4Hc {
                level: options
                    .number(&["level"], LZ4HC_LEVEL)?
                    .unwrap_or(LZ4HC_DEFAULT),
            },
            "deflate" => Self::Deflate {
                level: options
                    .number(&["level"], encode::zlib::LEVELS)?
                    .unwrap_or(DEFLATE_DEFAULT),
            },
            "zstd" => Self::Zstd {
                level: options
                    .number(&["level"], ZSTD_LEVEL)?
                    .unwrap_or(ZSTD_DEFAULT),
            },
            name @ ("lzma" | "microlzma") => {
                return Err(Error::unsupported(format!(
                    "compression `{text}`: EROFS images with {name} are read, but not written"
                )));
            }
            name => {
                return Err(Error::invalid(format!(
                    "compression `{text}`: EROFS has no `{name}` (written are none, lz4, lz4hc, deflate and zstd)"
                )));
            }
        };
        options.finish()?;
        Ok(compression)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Lz4 { level } => write!(f, "lz4:level={level}"),
            Self::Lz4Hc { level } => write!(f, "lz4hc:level={level}"),
            Self::Deflate { level } => write!(f, "deflate:level={level}"),
            Self::Zstd { level } => write!(f, "zstd:level={level}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_shown() {
        for text in [
            "none",
            "lz4:level=-3",
            "lz4hc:level=12",
            "deflate:level=12",
            "zstd:level=22",
        ] {
            let compression: Compression = text.parse().unwrap();
            assert_eq!(compression.to_string(), text);
        }
        for wrong in [
            "xz",
            "zstd:level=23",
            "lz4hc:level=0",
            "none:level=1",
            "zstd:window=20",
        ] {
            assert!(wrong.parse::<Compression>().is_err(), "{wrong}");
        }
        let lzma = "lzma".parse::<Compression>().unwrap_err();
        assert_eq!(lzma.kind(), model::Kind::Unsupported);
    }

    #[test]
    fn readers_are_told_of_the_window() {
        let zstd = Compression::default();
        assert_eq!(zstd.config(1 << 17), [0, 7, 0, 0, 0, 0]);
        assert_eq!(zstd.config(1 << 20), [0, 10, 0, 0, 0, 0]);
        assert_eq!(
            Compression::Lz4 { level: 0 }.config(4096)[..4],
            [255, 255, 0, 1]
        );
    }
}
