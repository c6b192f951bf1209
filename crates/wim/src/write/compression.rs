//! Compression of chunks.
//!
//! In: the bytes of a chunk. Out: what is stored.
//!
//! **Invariant:** a chunk that does not get smaller is stored as it is.

use std::str::FromStr;

use sinterfs_codec::lzms::{LzmsEncoder, MAX_ENCODED};
use sinterfs_codec::lzx::{LzxEncoder, LzxWindow};
use sinterfs_codec::xpress::XpressEncoder;
use sinterfs_model::{Error, Result};
use sinterfs_workers::WorkerPermits;

use crate::layout::WimCodec;

/// The largest chunk of resources that are not solid in an LZMS file with solid ones: wimlib's
/// default chunk size.
const LZMS_CHUNK: u32 = 1 << 17;

/// The compression of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WimCompression {
    /// The codec; `None` without compression.
    pub codec: Option<WimCodec>,
    /// The level, from 1 to 9.
    pub level: u8,
    /// Whether all content is one solid resource; if not, each is a separate resource.
    pub is_solid: bool,
}

impl WimCompression {
    /// Returns the smallest and the largest chunk in bytes.
    pub(super) fn chunk_sizes(self) -> (u32, u32) {
        let (least, most) = match self.codec {
            Some(codec) => codec.chunk_sizes(),
            None => (1 << 12, 1 << 26),
        };
        let encoded = u32::try_from(MAX_ENCODED).unwrap_or(u32::MAX);
        (least, most.min(encoded))
    }

    /// Returns the chunk size of resources that are not solid; where content is, its chunks may be
    /// larger than these.
    pub(super) fn chunk_size_alone(self, chunk_size: u32) -> u32 {
        let most = match self.codec {
            Some(WimCodec::Lzms) => LZMS_CHUNK,
            _ => 1 << 15,
        };
        if self.is_solid {
            chunk_size.min(most)
        } else {
            chunk_size
        }
    }

    /// Returns the bytes of memory that encoding a chunk takes.
    pub(super) fn memory(self, len: u32) -> u64 {
        match self.codec {
            // the content, 5 bytes for each of its bytes (6 at worst), and tables
            Some(WimCodec::Lzms) => u64::from(len) * 7 + (8 << 20),
            // matches: up to 18 of 4 bytes a position, rarely more than 5; 36 bytes for trees, ways
            // and items; tables; and the segment, which the writer needs
            _ => u64::from(len) * 64 + (4 << 20),
        }
    }
}

impl FromStr for WimCompression {
    type Err = Error;

    /// Parses `none`, or `xpress`, `lzx` or `lzms`, each with `:level=N`, `:solid` or both.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::invalid(format!(
                "compression `{text}`: WIM has xpress, lzx and lzms, each with `level=1` to \
                 `level=9` and `solid`, and none"
            ))
        };
        let mut words = text.split(':');
        let codec = match words.next() {
            Some("xpress") => WimCodec::Xpress,
            Some("lzx") => WimCodec::Lzx,
            Some("lzms") => WimCodec::Lzms,
            Some("none") if text == "none" => {
                return Ok(Self {
                    codec: None,
                    level: 1,
                    is_solid: false,
                });
            }
            _ => return Err(unknown()),
        };
        let (mut level, mut is_solid) = (None, false);
        for word in words {
            match word.strip_prefix("level=") {
                Some(number) if level.is_none() => {
                    let number = number.parse().ok().filter(|n| (1..=9).contains(n));
                    level = Some(number.ok_or_else(unknown)?);
                }
                None if word == "solid" && !is_solid => is_solid = true,
                _ => return Err(unknown()),
            }
        }
        Ok(Self {
            codec: Some(codec),
            level: level.unwrap_or(6),
            is_solid,
        })
    }
}

/// Compresses chunks; keeps its memory between them.
#[derive(Debug, Default)]
pub(super) struct ChunkEncoder {
    xpress: XpressEncoder,
    lzx: LzxEncoder,
    /// Made when it is needed: it has large tables.
    lzms: Option<Box<LzmsEncoder>>,
}

impl ChunkEncoder {
    /// Returns what is stored of a chunk; idle threads may help.
    pub(super) fn encode(
        &mut self,
        chunk: &[u8],
        compression: WimCompression,
        chunk_size: u32,
        permits: &WorkerPermits,
    ) -> Result<Vec<u8>> {
        let level = compression.level;
        let encoded = match compression.codec {
            None => None,
            Some(WimCodec::Xpress) => self.xpress.encode(chunk, level),
            Some(WimCodec::Lzx) => {
                let window = LzxWindow::for_chunk(chunk_size as usize)?;
                self.lzx.encode(chunk, window, level)
            }
            Some(WimCodec::Lzms) => {
                let encoder = self.lzms.get_or_insert_default();
                Some(encoder.encode(chunk, level, permits)?)
            }
        };
        let smaller = encoded.filter(|encoded| encoded.len() < chunk.len());
        Ok(smaller.unwrap_or_else(|| chunk.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_parsed() {
        let parsed = |text: &str| text.parse::<WimCompression>();
        let of = |codec, level, is_solid| WimCompression {
            codec,
            level,
            is_solid,
        };
        assert_eq!(parsed("none").unwrap(), of(None, 1, false));
        assert_eq!(parsed("lzx").unwrap(), of(Some(WimCodec::Lzx), 6, false));
        let xpress = of(Some(WimCodec::Xpress), 9, false);
        assert_eq!(parsed("xpress:level=9").unwrap(), xpress);
        let lzms = of(Some(WimCodec::Lzms), 3, true);
        assert_eq!(parsed("lzms:level=3:solid").unwrap(), lzms);
        assert_eq!(parsed("lzms:solid:level=3").unwrap(), lzms);
        for bad in [
            "",
            "lzma",
            "lzx:level=0",
            "lzx:level=10",
            "lzx:level=1:level=2",
            "lzx:solid:solid",
            "none:level=1",
            "none:solid",
            "lzx:9",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
