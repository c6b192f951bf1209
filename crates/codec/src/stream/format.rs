//! The formats of compressed streams: how they are recognised, and their decoders.
//!
//! In: first bytes. Out: a format, and a decoder of one stream. **Invariant:** a format that the
//! build has no decoder for is recognised all the same, and an error that names it.

use std::io::BufRead;

use sinterfs_model::Result;

use super::decoder::Decoder;
use super::input::Input;
use super::lzma_start;
#[cfg(feature = "zstd")]
use super::zstd;
#[cfg(feature = "streams")]
use super::{bzip2, gzip};
#[cfg(feature = "lz4")]
use super::{lz4, lz4_frame};
#[cfg(feature = "lzma")]
use super::{lzma, xz};

/// Calls the decoder of a format that exists with a feature only; without it, the result is the
/// error that names both.
macro_rules! built_in {
    ($feature:literal, $codec:literal, $module:ident::decoder($input:ident)) => {{
        #[cfg(feature = $feature)]
        {
            $module::decoder($input)
        }
        #[cfg(not(feature = $feature))]
        {
            drop($input);
            Err(crate::codec::left_out($codec, $feature))
        }
    }};
}

/// The format of a compressed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
    /// xz.
    Xz,
    /// bzip2.
    Bzip2,
    /// The format before xz.
    Lzma,
    /// LZ4's legacy frame.
    Lz4,
    /// LZ4's frame.
    Lz4Frame,
}

impl StreamFormat {
    /// Identifies the format by the first bytes of a file; `None` for anything else.
    pub fn detect(start: &[u8]) -> Option<Self> {
        Some(match start {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            // a frame, or a skippable one as pzstd writes it first
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0x02, 0x21, 0x4c, 0x18, ..] => Self::Lz4,
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Lz4Frame,
            start if lzma_start::is_lzma(start) => Self::Lzma,
            _ => return None,
        })
    }

    /// Returns the name of a stream of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip member",
            Self::Zstd => "zstd frame",
            Self::Xz => "xz stream",
            Self::Bzip2 => "bzip2 stream",
            Self::Lzma => "lzma stream",
            Self::Lz4 | Self::Lz4Frame => "lz4 frame",
        }
    }

    /// Makes the decoder of one stream.
    pub(super) fn decoder<R: BufRead + Send + 'static>(
        self,
        input: Input<R>,
    ) -> Result<Box<dyn Decoder<R>>> {
        match self {
            Self::Gzip => built_in!("streams", "gzip", gzip::decoder(input)),
            Self::Zstd => built_in!("zstd", "zstd", zstd::decoder(input)),
            Self::Xz => built_in!("lzma", "xz", xz::decoder(input)),
            Self::Bzip2 => built_in!("streams", "bzip2", bzip2::decoder(input)),
            Self::Lzma => built_in!("lzma", "lzma", lzma::decoder(input)),
            Self::Lz4 => built_in!("lz4", "lz4", lz4::decoder(input)),
            Self::Lz4Frame => built_in!("lz4", "lz4", lz4_frame::decoder(input)),
        }
    }
}
