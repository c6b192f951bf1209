//! Compression of chunks.
//!
//! In: the bytes of a chunk. Out: what is stored.
//!
//! **Invariant:** a chunk that does not get smaller is stored as it is.

use std::str::FromStr;

use sinterfs_block::codec::lzx::{LzxEncoder, LzxWindow};
use sinterfs_block::codec::xpress::XpressEncoder;
use sinterfs_model::{Error, Result};

use crate::layout::WimCodec;

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WimCompression {
    /// Not at all.
    None,
    /// By XPRESS with a level from 1 to 9.
    Xpress(u8),
    /// By LZX with a level from 1 to 9.
    Lzx(u8),
}

impl WimCompression {
    /// Returns the codec; `None` without compression.
    pub fn codec(self) -> Option<WimCodec> {
        match self {
            Self::None => None,
            Self::Xpress(_) => Some(WimCodec::Xpress),
            Self::Lzx(_) => Some(WimCodec::Lzx),
        }
    }
}

impl FromStr for WimCompression {
    type Err = Error;

    /// Parses `none`, `xpress`, `lzx`, or one of these two with `:level=N`.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::invalid(format!(
                "compression `{text}`: WIM has xpress and lzx, each with `level=1` to `level=9`, \
                 and none"
            ))
        };
        let (codec, options) = text.split_once(':').unwrap_or((text, "level=6"));
        let level = options.strip_prefix("level=").and_then(|n| n.parse().ok());
        let level = level.filter(|level| (1..=9).contains(level));
        match (codec, level) {
            ("none", _) if text == "none" => Ok(Self::None),
            ("xpress", Some(level)) => Ok(Self::Xpress(level)),
            ("lzx", Some(level)) => Ok(Self::Lzx(level)),
            _ => Err(unknown()),
        }
    }
}

/// Compresses chunks; keeps its memory between them.
#[derive(Debug, Default)]
pub(super) struct ChunkEncoder {
    xpress: XpressEncoder,
    lzx: LzxEncoder,
}

impl ChunkEncoder {
    /// Returns what is stored of a chunk.
    pub(super) fn encode(
        &mut self,
        chunk: &[u8],
        compression: WimCompression,
        chunk_size: u32,
    ) -> Result<Vec<u8>> {
        let encoded = match compression {
            WimCompression::None => None,
            WimCompression::Xpress(level) => self.xpress.encode(chunk, level),
            WimCompression::Lzx(level) => {
                let window = LzxWindow::for_chunk(chunk_size as usize)?;
                self.lzx.encode(chunk, window, level)
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
        assert_eq!(parsed("none").unwrap(), WimCompression::None);
        assert_eq!(parsed("lzx").unwrap(), WimCompression::Lzx(6));
        assert_eq!(parsed("xpress:level=9").unwrap(), WimCompression::Xpress(9));
        for bad in [
            "",
            "lzms",
            "lzx:level=0",
            "lzx:level=10",
            "none:level=1",
            "lzx:9",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
