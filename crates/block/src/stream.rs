//! Files that are compressed as a whole (gzip, zstd, xz, bzip2), decoded from front to back.
//!
//! Enters a stream, leaves its content. The first bytes identify the format, not the file name.
//! Spec: RFC 1952, RFC 8878, the .xz file format 1.2.1; bzip2 has none. Concatenated members,
//! frames or streams are read as one, as by the programs themselves. **Invariant:** a truncated
//! stream is an error, never short content; windows and dictionaries of more than 1 GiB are
//! refused.

#[cfg(feature = "streams")]
mod bzip2;
#[cfg(feature = "streams")]
mod gzip;
#[cfg(feature = "lzma")]
mod lzma;
#[cfg(any(feature = "lzma", feature = "zstd"))]
mod window;
#[cfg(feature = "lzma")]
mod xz;
#[cfg(feature = "zstd")]
mod zstd;

use std::io::{BufRead, Read};

use sinterfs_model::Result;

use crate::codec::missing::built_in;

/// The number of first bytes that identify a format.
pub const START: usize = 6;

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
    /// The format before xz, which no first bytes identify.
    Lzma,
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
            _ => return None,
        })
    }

    /// Decodes a stream.
    ///
    /// # Errors
    /// `Limit` if there is no memory for a decoder, `Unsupported` if the build has none. A damaged
    /// stream fails when it is read.
    pub fn decode<R: BufRead + Send + 'static>(self, stream: R) -> Result<Box<dyn Read + Send>> {
        match self {
            Self::Gzip => built_in!("streams", "gzip", gzip::decode(stream)),
            Self::Zstd => built_in!("zstd", "zstd", zstd::decode(stream)),
            Self::Xz => built_in!("lzma", "xz", xz::decode(stream)),
            Self::Bzip2 => built_in!("streams", "bzip2", bzip2::decode(stream)),
            Self::Lzma => built_in!("lzma", "lzma", lzma::decode(stream)),
        }
    }
}

#[cfg(test)]
mod tests;
