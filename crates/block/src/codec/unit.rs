//! Codecs of units: blocks of up to 1 MiB, coded whole and into the caller's memory. One file each.
//!
//! In: a codec's own stream, which need not tell how long its content is. Out: the content, at the
//! front of a buffer that is as long as the content may be.
//!
//! **Invariants:** nothing is written beyond the buffer, whatever the stream says. Contexts of zlib
//! and zstd are kept per thread; those of xz and LZMA are made for each unit and may take a
//! dictionary of `MAX_DICTIONARY` bytes on top of the buffer.

mod deflate;
pub mod encode;
mod limits;
mod lz4;
mod lzma;
mod lzma_stream;
mod lzo;
mod micro_lzma;
mod part;
mod xz;
mod zlib;
mod zstd;

#[cfg(test)]
mod tests;

use sinterfs_model::{Error, Result};

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
    /// A zstd frame.
    Zstd,
    /// Deflate without a header.
    Deflate,
    /// LZMA with a header of one byte; its content must be as long as the room.
    MicroLzma,
}

impl UnitCodec {
    /// Decodes a stream into the front of `room` and tells the number of bytes. What follows the
    /// stream's end is not looked at.
    ///
    /// `Corrupt` for a damaged stream and for one that has more content than `room`, `Limit` for
    /// one that asks for a dictionary above `MAX_DICTIONARY`.
    pub fn decode(self, stream: &[u8], room: &mut [u8]) -> Result<usize> {
        if stream.is_empty() {
            return Err(Error::corrupt("an empty stream"));
        }
        match self {
            Self::Zlib => zlib::decode(stream, room),
            Self::Lzma => lzma::decode(stream, room),
            Self::Lzo => lzo::decode(stream, room),
            Self::Xz => xz::decode(stream, room),
            Self::Lz4 => lz4::decode(stream, room),
            Self::Zstd => zstd::decode(stream, room),
            Self::Deflate => deflate::decode(stream, room),
            Self::MicroLzma => micro_lzma::decode(stream, room),
        }
    }

    /// Fills `room` with the first bytes of the content of a stream, which may have more: LZ4,
    /// zstd, Deflate (both up to `MAX_CONTENT` bytes) and MicroLZMA.
    ///
    /// `Corrupt` for a stream that is damaged or has less content, `Unsupported` for other codecs.
    pub fn decode_part(self, stream: &[u8], room: &mut [u8]) -> Result<()> {
        match self {
            Self::Lz4 => lz4::decode_part(stream, room),
            Self::MicroLzma => micro_lzma::decode_part(stream, room),
            Self::Zstd => part::decode("zstd", room, |room| zstd::fill(stream, room)),
            Self::Deflate => part::decode("deflate", room, |room| deflate::fill(stream, room)),
            Self::Zlib | Self::Lzma | Self::Lzo | Self::Xz => {
                Err(Error::unsupported(format!("{self:?}: parts of streams")))
            }
        }
    }
}
