//! Codecs of units: blocks of up to 1 MiB, coded whole and into the caller's memory. One file each.
//!
//! In: a codec's own stream, which need not contain the length of its content. Out: the content, at
//! the front of a buffer that is as long as the content may be.
//!
//! **Invariants:** nothing is written beyond the buffer, whatever the stream contains. Contexts of
//! zlib and zstd are kept per thread; those of xz and LZMA are made for each unit and may take a
//! dictionary of `MAX_DICTIONARY` bytes in addition to the buffer.

#[cfg(feature = "streams")]
mod bzip2;
#[cfg(feature = "deflate")]
mod deflate;
pub mod encode;
mod limits;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lz4")]
mod lz4_frame;
#[cfg(feature = "lzma")]
mod lzma;
#[cfg(feature = "lzma")]
mod lzma_stream;
#[cfg(feature = "lzo")]
mod lzo;
#[cfg(feature = "lzma")]
mod micro_lzma;
#[cfg(any(feature = "deflate", feature = "zstd"))]
mod part;
#[cfg(any(feature = "lz4", feature = "streams"))]
mod whole;
#[cfg(feature = "lzma")]
mod xz;
#[cfg(feature = "deflate")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(test)]
mod tests;

use sinterfs_model::{Error, Result};

use crate::missing::built_in;

pub use limits::{MAX_CONTENT, MAX_DICTIONARY};

/// A codec of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitCodec {
    /// Deflate in a zlib stream (RFC 1950).
    Zlib,
    /// LZMA with the header of `.lzma` files.
    Lzma,
    /// LZO1X without a header.
    Lzo,
    /// An xz stream with any filters.
    Xz,
    /// An LZ4 block.
    Lz4,
    /// LZ4 blocks in a frame.
    Lz4Frame,
    /// A zstd frame.
    Zstd,
    /// Deflate without a header.
    Deflate,
    /// LZMA with a header of one byte; its content must fill the output.
    MicroLzma,
    /// A bzip2 stream.
    Bzip2,
}

impl UnitCodec {
    /// Decodes a stream into the front of `output` and returns the number of bytes. Bytes behind
    /// the stream's end are ignored.
    ///
    /// Fails with `Corrupt` for a damaged stream and for one with more content than `output` holds,
    /// with `Limit` for one that needs a dictionary above `MAX_DICTIONARY`.
    pub fn decode(self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        if stream.is_empty() {
            return Err(Error::corrupt("an empty stream"));
        }
        match self {
            Self::Zlib => built_in!("deflate", "zlib", zlib::decode(stream, output)),
            Self::Lzma => built_in!("lzma", "lzma", lzma::decode(stream, output)),
            Self::Lzo => built_in!("lzo", "lzo", lzo::decode(stream, output)),
            Self::Xz => built_in!("lzma", "xz", xz::decode(stream, output)),
            Self::Lz4 => built_in!("lz4", "lz4", lz4::decode(stream, output)),
            Self::Lz4Frame => built_in!("lz4", "lz4", lz4_frame::decode(stream, output)),
            Self::Zstd => built_in!("zstd", "zstd", zstd::decode(stream, output)),
            Self::Deflate => built_in!("deflate", "deflate", deflate::decode(stream, output)),
            Self::MicroLzma => built_in!("lzma", "microlzma", micro_lzma::decode(stream, output)),
            Self::Bzip2 => built_in!("streams", "bzip2", bzip2::decode(stream, output)),
        }
    }

    /// Fills `output` with the first bytes of the content of a stream, which may have more: LZ4,
    /// zstd, Deflate (both up to `MAX_CONTENT` bytes) and MicroLZMA.
    ///
    /// Fails with `Corrupt` for a stream that is damaged or has less content, with `Unsupported`
    /// for other codecs.
    pub fn decode_part(self, stream: &[u8], output: &mut [u8]) -> Result<()> {
        match self {
            Self::Lz4 => built_in!("lz4", "lz4", lz4::decode_part(stream, output)),
            Self::MicroLzma => {
                built_in!("lzma", "microlzma", micro_lzma::decode_part(stream, output))
            }
            Self::Zstd => built_in!("zstd", "zstd", zstd::decode_part(stream, output)),
            Self::Deflate => built_in!("deflate", "deflate", deflate::decode_part(stream, output)),
            Self::Zlib | Self::Lzma | Self::Lzo | Self::Xz | Self::Lz4Frame | Self::Bzip2 => {
                Err(Error::unsupported(format!("{self:?}: parts of streams")))
            }
        }
    }
}
