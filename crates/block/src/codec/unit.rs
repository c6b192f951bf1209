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
mod lz4;
mod lzma;
mod lzo;
mod micro_lzma;
mod part;
mod xz;
mod zlib;
mod zstd;

#[cfg(test)]
mod tests;

use liblzma::stream::{Action, Status, Stream};
use sinterfs_model::{Error, Result};

/// The largest dictionary that a stream may ask for, in bytes: that of `xz -9`.
pub const MAX_DICTIONARY: u64 = 64 << 20;

/// The longest content of a stream of which a part is wanted, in bytes: that of EROFS.
pub const MAX_CONTENT: usize = 12 << 20;

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

/// Makes the error for a stream that has more content than there is room for.
#[cold]
fn too_long(codec: &str, room: &[u8]) -> Error {
    let len = room.len();
    Error::corrupt(format!("{codec}: more than the {len} bytes of a unit"))
}

/// Runs a decoder of liblzma over a whole stream.
fn run_lzma(
    mut decoder: Stream,
    codec: &'static str,
    stream: &[u8],
    room: &mut [u8],
) -> Result<usize> {
    let mut full = false;
    loop {
        let (read, written) = (position(decoder.total_in()), position(decoder.total_out()));
        let rest = stream.get(read..).unwrap_or_default();
        // a byte more, so that a stream that is too long can show it
        let mut spare = [0];
        let left = match room.get_mut(written..) {
            Some(left) if !left.is_empty() => left,
            _ => {
                full = true;
                &mut spare[..]
            }
        };
        let status = decoder.process(rest, left, Action::Finish);
        let status = status.map_err(|error| lzma_error(codec, error))?;
        let made = position(decoder.total_out());
        if full && made > written {
            return Err(too_long(codec, room));
        }
        match status {
            Status::StreamEnd => return Ok(made),
            _ if made == written && position(decoder.total_in()) == read => {
                return Err(Error::corrupt(format!("{codec}: stream ends early")));
            }
            _ => {}
        }
    }
}

fn position(total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX)
}

#[cold]
fn lzma_error(codec: &str, error: liblzma::stream::Error) -> Error {
    use liblzma::stream::Error as Lzma;
    match error {
        Lzma::MemLimit => Error::limit(format!(
            "{codec}: the dictionary is above the limit of {MAX_DICTIONARY} bytes"
        )),
        Lzma::Mem => Error::limit(format!("{codec}: no memory for the dictionary")),
        Lzma::Options | Lzma::UnsupportedCheck => {
            Error::unsupported(format!("{codec}: filter or check that is not known"))
        }
        _ => Error::corrupt(format!("{codec}: damaged stream")).because(error),
    }
}

/// What a decoder of liblzma takes besides its dictionary, at most, in bytes.
const LZMA_TABLES: u64 = 4 << 20;
