//! The compression of an image: one codec with its options, as text, as a value and as the
//! configuration that readers get.
//!
//! In: text like `zstd:level=19`, then raw bytes. Out: streams of the codec. **Invariant:** the
//! result depends only on the bytes and the options.

use std::fmt;
use std::str::FromStr;

use sinterfs_codec::unit::encode;
use sinterfs_codec::{Encoding, Options, levels};
use sinterfs_model::{Error, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::limits::BLOCK;
use crate::layout::Algorithm;
use crate::layout::compressed::{DeflateConfig, Lz4Config, LzmaConfig, ZstdConfig};

/// The codec of an image with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Nothing is compressed.
    None,
    /// The fast method of LZ4.
    Lz4 {
        /// 0, or a negative number for more speed.
        level: i32,
    },
    /// The high-compression method of LZ4.
    Lz4Hc {
        /// The level.
        level: i32,
    },
    /// MicroLZMA.
    Lzma {
        /// The level, 1 to 9.
        level: u32,
    },
    /// DEFLATE.
    Deflate {
        /// The level, as of libdeflate.
        level: i32,
    },
    /// Zstandard.
    Zstd {
        /// The level; those below 1 are fast.
        level: i32,
    },
}

/// The way in which a codec fills a pcluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    /// It stops when the room is full.
    Exact,
    /// It stops when the room is full, but adapts to the length of its input first.
    Ahead,
    /// It cannot stop at a given output length.
    Unknown,
}

const LZ4HC_DEFAULT: i32 = 11;
const LZMA_DEFAULT: u32 = 6;
const DEFLATE_DEFAULT: i32 = 9;
const ZSTD_DEFAULT: i32 = 15;

/// The dictionary of LZMA in bytes. Kernels take as much memory for each decoding thread.
const LZMA_DICT: u32 = 1 << 20;

/// The smallest window of Zstandard that the configuration can express, as a power of two.
const ZSTD_WINDOW_MIN: u32 = 10;

/// The largest window of Zstandard that kernels allow, as a power of two.
const ZSTD_WINDOW_MAX: u32 = 20;

impl Compression {
    /// Encodes content; `None` if that makes it no smaller.
    pub(super) fn encode(&self, raw: &[u8]) -> Result<Option<Vec<u8>>> {
        match *self {
            Self::None => Ok(None),
            Self::Lz4 { level } => encode::lz4(raw, level),
            Self::Lz4Hc { level } => encode::lz4_hc(raw, level),
            Self::Lzma { level } => Ok(encode::micro_lzma::encode(raw, level, LZMA_DICT)),
            Self::Deflate { level } => Ok(encode::zlib(raw, level)?.map(bare)),
            Self::Zstd { level } => encode::zstd_window(raw, level, ZSTD_WINDOW_MAX),
        }
    }

    /// Returns how the codec fills a cluster.
    pub(super) fn filling(&self) -> Filling {
        match *self {
            Self::Lz4Hc { .. } => Filling::Exact,
            // the tables of LZ4's fast method are finer for short input
            Self::Lz4 { level: 0 } | Self::Lzma { .. } => Filling::Ahead,
            Self::None | Self::Lz4 { .. } | Self::Deflate { .. } | Self::Zstd { .. } => {
                Filling::Unknown
            }
        }
    }

    /// Encodes as much as fills `room` bytes, and returns how much that is: nothing where the codec
    /// cannot stop at a given output length.
    pub(super) fn fill(&self, raw: &[u8], room: usize) -> Result<(usize, Vec<u8>)> {
        match *self {
            Self::Lz4 { level: 0 } => encode::lz4_fill(raw, room),
            Self::Lz4Hc { level } => encode::lz4_hc_fill(raw, room, level),
            Self::Lzma { level } => Ok(encode::micro_lzma::fill(raw, room, level, LZMA_DICT)),
            Self::None | Self::Lz4 { .. } | Self::Deflate { .. } | Self::Zstd { .. } => {
                Ok((0, Vec::new()))
            }
        }
    }

    /// Returns the algorithm that readers need; `None` if nothing is compressed.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        match self {
            Self::None => None,
            Self::Lz4 { .. } | Self::Lz4Hc { .. } => Some(Algorithm::Lz4),
            Self::Lzma { .. } => Some(Algorithm::MicroLzma),
            Self::Deflate { .. } => Some(Algorithm::Deflate),
            Self::Zstd { .. } => Some(Algorithm::Zstd),
        }
    }

    /// Returns the configuration for readers, for units and pclusters of the given size.
    pub(super) fn config(&self, unit: u32, cluster: u32) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::Lz4 { .. } | Self::Lz4Hc { .. } => Lz4Config {
                max_distance: U16::new(u16::MAX),
                max_cluster_blocks: U16::new((u64::from(cluster) / BLOCK) as u16),
                reserved: [0; 10],
            }
            .as_bytes()
            .to_vec(),
            Self::Lzma { .. } => LzmaConfig {
                dict_size: U32::new(LZMA_DICT.min(unit)),
                format: U16::new(0),
                reserved: [0; 8],
            }
            .as_bytes()
            .to_vec(),
            Self::Deflate { .. } => DeflateConfig {
                window_bits: 15,
                reserved: [0; 5],
            }
            .as_bytes()
            .to_vec(),
            Self::Zstd { .. } => {
                // the window of a frame of one unit is no larger than the unit
                let window = unit
                    .trailing_zeros()
                    .clamp(ZSTD_WINDOW_MIN, ZSTD_WINDOW_MAX);
                ZstdConfig {
                    format: 0,
                    window_log: (window - ZSTD_WINDOW_MIN) as u8,
                    reserved: [0; 4],
                }
                .as_bytes()
                .to_vec()
            }
        }
    }

    /// Returns how many bytes of memory encoding `len` bytes takes at most.
    pub(super) fn memory(&self, len: u32) -> u64 {
        match *self {
            Self::None => 0,
            Self::Lz4 { level } => Encoding::Lz4 { level }.memory(len),
            Self::Lz4Hc { level } => Encoding::Lz4Hc { level }.memory(len),
            Self::Lzma { level } => Encoding::Lzma2 {
                level,
                dict: None,
                lc: 3,
                lp: 0,
                pb: 2,
                binary: None,
            }
            .memory(len),
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

/// Removes the header and the checksum of zlib. A stream must not begin with a zero, which readers
/// would take for padding: the first byte of a stream that begins with a stored block has unused
/// bits, one of which is set.
fn bare(mut stream: Vec<u8>) -> Vec<u8> {
    const UNUSED: u8 = 1 << 3;
    const HEADER: usize = 2;
    const CHECKSUM: usize = 4;
    stream.truncate(stream.len().saturating_sub(CHECKSUM));
    stream.drain(..HEADER.min(stream.len()));
    if let Some(first @ 0) = stream.first_mut() {
        *first = UNUSED;
    }
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

    /// Parses `none`, `lz4:level=0`, `lz4hc:level=12`, `lzma:level=6`, `deflate:level=9` or
    /// `zstd:level=15`; all options may be omitted.
    fn from_str(text: &str) -> Result<Self> {
        let mut options = Options::new(text)?;
        let compression = match options.name() {
            "none" => Self::None,
            "lz4" => Self::Lz4 {
                level: options.level(levels::LZ4, 0)?,
            },
            "lz4hc" => Self::Lz4Hc {
                level: options.level(levels::LZ4HC, LZ4HC_DEFAULT)?,
            },
            "lzma" | "microlzma" => Self::Lzma {
                level: options.level(encode::micro_lzma::LEVELS, LZMA_DEFAULT)?,
            },
            "deflate" => Self::Deflate {
                level: options.level(encode::ZLIB_LEVELS, DEFLATE_DEFAULT)?,
            },
            "zstd" => Self::Zstd {
                level: options.level(levels::ZSTD, ZSTD_DEFAULT)?,
            },
            name => {
                return Err(Error::invalid(format!(
                    "compression `{text}`: EROFS has no `{name}` (supported: `none`, lz4, lz4hc, \
                     lzma, deflate, zstd)"
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
            Self::Lzma { level } => write!(f, "lzma:level={level}"),
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
            "lzma:level=9",
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
    }

    #[test]
    fn the_configuration_has_the_window() {
        let zstd = Compression::default();
        assert_eq!(zstd.config(1 << 17, 1 << 20), [0, 7, 0, 0, 0, 0]);
        assert_eq!(zstd.config(1 << 22, 1 << 20), [0, 10, 0, 0, 0, 0]);
        assert_eq!(
            Compression::Lz4 { level: 0 }.config(1 << 20, 1 << 16)[..4],
            [255, 255, 16, 0]
        );
    }
}
