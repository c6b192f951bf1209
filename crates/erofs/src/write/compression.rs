//! The compression of an image: one codec with its options, as text, as a value and as the
//! configuration that readers get.
//!
//! In: text like `zstd:level=19`, then raw bytes. Out: streams of the codec. **Invariant:** the
//! result depends only on the bytes and the options.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use sinterfs_codec::{CodecId, Encoding};
use sinterfs_model::{Error, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::limits::BLOCK;
use crate::codecs::{self, DIALECT};
use crate::layout::Algorithm;
use crate::layout::compressed::{DeflateConfig, Lz4Config, LzmaConfig, ZstdConfig};

/// The codec of an image with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compression(Encoding);

/// The longest distance of LZMA, for which kernels take memory for each decoding thread, and of
/// Zstandard, which kernels allow; in bytes.
const WINDOW_MAX: u32 = 1 << 20;

/// The smallest window of Zstandard that the configuration can express, as a power of two.
const ZSTD_WINDOW_MIN: u32 = 10;

impl Compression {
    /// Returns the one that leaves everything as it is.
    pub fn none() -> Self {
        Self(Encoding::default())
    }

    /// Encodes content; `None` if that makes it no smaller.
    pub(super) fn encode(&self, raw: &[u8]) -> Result<Option<Vec<u8>>> {
        self.encode_unit(raw, Some(WINDOW_MAX))
    }

    /// Encodes as much as fills `room` bytes, and returns how much that is: nothing where the codec
    /// cannot stop at a given output length.
    pub(super) fn fill(&self, raw: &[u8], room: usize) -> Result<(usize, Vec<u8>)> {
        self.fill_unit(raw, room, Some(WINDOW_MAX))
    }

    /// Returns the algorithm that readers need; `None` if nothing is compressed.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        codecs::algorithm(self.codec())
    }

    /// Returns the configuration for readers, for units and pclusters of the given size.
    pub(super) fn config(&self, unit: u32, cluster: u32) -> Vec<u8> {
        match self.algorithm() {
            None => Vec::new(),
            Some(Algorithm::Lz4) => Lz4Config {
                max_distance: U16::new(u16::MAX),
                max_cluster_blocks: U16::new((u64::from(cluster) / BLOCK) as u16),
                reserved: [0; 10],
            }
            .as_bytes()
            .to_vec(),
            Some(Algorithm::MicroLzma) => LzmaConfig {
                dict_size: U32::new(WINDOW_MAX.min(unit)),
                format: U16::new(0),
                reserved: [0; 8],
            }
            .as_bytes()
            .to_vec(),
            Some(Algorithm::Deflate) => DeflateConfig {
                window_bits: 15,
                reserved: [0; 5],
            }
            .as_bytes()
            .to_vec(),
            Some(Algorithm::Zstd) => {
                // the window of a frame of one unit is no larger than the unit
                let window = unit
                    .trailing_zeros()
                    .clamp(ZSTD_WINDOW_MIN, WINDOW_MAX.ilog2());
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
}

impl Deref for Compression {
    type Target = Encoding;

    fn deref(&self) -> &Encoding {
        &self.0
    }
}

impl Default for Compression {
    fn default() -> Self {
        Self(DIALECT.usual(CodecId::Zstd))
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// Parses `none`, `lz4:level=0`, `lz4hc:level=12`, `lzma:level=6`, `deflate:level=9` or
    /// `zstd:level=15`; all options may be omitted.
    fn from_str(text: &str) -> Result<Self> {
        DIALECT.parse(text).map(Self)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
            "lz4"
                .parse::<Compression>()
                .unwrap()
                .config(1 << 20, 1 << 16)[..4],
            [255, 255, 16, 0]
        );
    }
}
