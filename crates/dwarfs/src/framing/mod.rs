//! Framing of codec streams: the payload of a section, by compression id.
//!
//! In: a payload with its compression id, or a decoded block with an encoding. Out: the other of
//! the two. Spec: `docs/formats/dwarfs.md`, compression ids.
//!
//! | id | name | payload |
//! |---|---|---|
//! | 0 | none | the bytes |
//! | 1 | lzma | .xz stream; the size is in its index |
//! | 2 | zstd | frame with a content size |
//! | 3, 4 | lz4, lz4hc | size (u32, little-endian), block |
//! | 5 | brotli | size (LEB128), stream |
//! | 6 | flac | size (LEB128), header (thrift compact), stream |
//! | 7 | ricepp | size (LEB128), header (thrift compact), bit stream |
//!
//! **Invariant:** a decoded size is compared with the limit before anything is allocated, and
//! decoding returns exactly that size or an error.

mod header;
mod pcm;
mod raw_image;

#[cfg(test)]
mod tests;

use sinterfs_block::cache::Opened;
use sinterfs_codec::flac::Flac;
use sinterfs_codec::ricepp::Ricepp;
use sinterfs_codec::{Bytes, CodecId, Decoder, Encode, Encoding, check_limit};
use sinterfs_model::{Category, Error, Result};
use sinterfs_workers::WorkerPermits;

/// The compression ids.
pub mod id {
    /// The bytes, not encoded.
    pub const NONE: u16 = 0;
    /// An .xz stream.
    pub const LZMA: u16 = 1;
    /// A Zstandard frame.
    pub const ZSTD: u16 = 2;
    /// An LZ4 block of either compressor.
    pub const LZ4: u16 = 3;
    /// An LZ4 block; upstream reads this id, but writes [`LZ4`].
    pub const LZ4HC: u16 = 4;
    /// A brotli stream.
    pub const BROTLI: u16 = 5;
    /// PCM audio as FLAC.
    pub const FLAC: u16 = 6;
    /// 16-bit images as Rice codes.
    pub const RICEPP: u16 = 7;
}

/// What is around a codec's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// Nothing: the stream states its length.
    Bare,
    /// The size as a 32-bit number.
    Size32,
    /// The size as LEB128.
    Size,
    /// The size as LEB128, and the form of audio.
    Waveform,
    /// The size as LEB128, and the form of an image.
    RawImage,
}

/// A compression id.
struct Row {
    id: u16,
    name: &'static str,
    frame: Frame,
    /// The codec that decodes, and others with the same streams.
    codecs: &'static [CodecId],
}

const fn row(id: u16, name: &'static str, frame: Frame, codecs: &'static [CodecId]) -> Row {
    Row {
        id,
        name,
        frame,
        codecs,
    }
}

/// The codecs of DwarFS. A new one is a row here, and in the table above.
const ROWS: [Row; 8] = [
    row(id::NONE, "NONE", Frame::Bare, &[CodecId::Null]),
    row(
        id::LZMA,
        "LZMA",
        Frame::Bare,
        &[CodecId::Xz, CodecId::Lzma2],
    ),
    row(id::ZSTD, "ZSTD", Frame::Bare, &[CodecId::Zstd]),
    row(
        id::LZ4,
        "LZ4",
        Frame::Size32,
        &[CodecId::Lz4, CodecId::Lz4Hc],
    ),
    row(id::LZ4HC, "LZ4HC", Frame::Size32, &[CodecId::Lz4]),
    row(id::BROTLI, "BROTLI", Frame::Size, &[CodecId::Brotli]),
    row(id::FLAC, "FLAC", Frame::Waveform, &[CodecId::Flac]),
    row(id::RICEPP, "RICEPP", Frame::RawImage, &[CodecId::Ricepp]),
];

impl Row {
    fn of(compression: u16) -> Result<&'static Self> {
        let row = ROWS.iter().find(|row| row.id == compression);
        row.ok_or_else(|| unknown(compression))
    }

    /// Returns the codec that decodes.
    fn codec(&self) -> CodecId {
        self.codecs.first().copied().unwrap_or(CodecId::Null)
    }

    /// Returns the decoded length, which has been compared with the limit, and the length of what
    /// is before the codec's stream.
    fn size(&self, stored: &[u8], limit: u64) -> Result<(u64, usize)> {
        let (len, rest) = match self.frame {
            Frame::Bare => match self.codec().codec()?.decoded_len(stored)? {
                Some(len) => (len, stored),
                None => return Err(Error::corrupt("a stream without its decoded size")),
            },
            Frame::Size32 => lz4_size(stored)?,
            Frame::Size | Frame::Waveform | Frame::RawImage => header::size(stored)?,
        };
        check_limit(len, limit)?;
        Ok((len, stored.len().saturating_sub(rest.len())))
    }
}

/// Returns upstream's name of a compression id.
pub fn name(compression: u16) -> Option<&'static str> {
    Row::of(compression).ok().map(|row| row.name)
}

/// Returns the decoded length of a payload in bytes, without decoding it. `Limit` if it is above
/// `limit`, `Unsupported` for an unknown id, `Corrupt` for a damaged payload.
pub fn decoded_len(compression: u16, stored: &[u8], limit: u64) -> Result<u64> {
    Ok(Row::of(compression)?.size(stored, limit)?.0)
}

/// Decodes a payload of up to `limit` decoded bytes. `Limit` if there are more, `Unsupported` for
/// an unknown id, `Corrupt` for a damaged payload.
pub fn decode(compression: u16, stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let row = Row::of(compression)?;
    match row.frame {
        Frame::Waveform => pcm::decode(stored, limit),
        Frame::RawImage => raw_image::decode(stored, limit),
        Frame::Bare | Frame::Size32 | Frame::Size => {
            let (len, start) = row.size(stored, limit)?;
            let stream = stored.get(start..).unwrap_or_default();
            row.codec().codec()?.decode(stream, len)
        }
    }
}

/// Blocks of up to this decoded length are decoded at once, in bytes.
const SMALL: u64 = 256 << 10;

/// Opens a payload for reading, with the errors of [`decode`]. Large payloads of codecs that
/// support it are decoded incrementally, on demand.
pub fn open(compression: u16, stored: &Bytes, limit: u64) -> Result<Opened> {
    let row = Row::of(compression)?;
    let (len, start) = row.size(stored, limit)?;
    if len > SMALL
        && let Some(decoder) = Decoder::new(row.codec(), stored.clone().skip(start), len)?
    {
        return Ok(Opened::Encoded(Box::new(decoder)));
    }
    Ok(Opened::Decoded(decode(compression, stored, limit)?))
}

/// Adapts a category of samples to the samples of a block: their padding and unused bits.
pub(crate) fn refine(category: Category, raw: &[u8]) -> Category {
    match category {
        Category::Waveform(waveform) => Category::Waveform(pcm::refine(waveform, raw)),
        Category::Fits(image) => Category::Fits(raw_image::refine(image, raw)),
        other => other,
    }
}

/// Encodes a block; returns its compression id and payload: id 0 and the unchanged bytes if the
/// codec does not make it smaller.
///
/// # Errors
/// `Invalid` for a codec of samples if the category describes none.
pub fn encode(
    encoding: &Encoding,
    category: Category,
    raw: &[u8],
    permits: &WorkerPermits,
) -> Result<(u16, Vec<u8>)> {
    if encoding.is_none() {
        return Ok((id::NONE, raw.to_vec()));
    }
    let codec = encoding.codec();
    let row = ROWS.iter().find(|row| row.codecs.contains(&codec));
    let row =
        row.ok_or_else(|| Error::unsupported(format!("DwarFS has no compression `{encoding}`")))?;
    let payload = match (row.frame, category) {
        (Frame::Bare, _) => encoding.encode_as(category, raw, permits)?,
        (Frame::Size32, _) => {
            let size = u32::try_from(raw.len()).map_err(|_| {
                Error::invalid(format!(
                    "{codec}: a block of {} bytes is too long",
                    raw.len()
                ))
            })?;
            let stream = encoding.encode_as(category, raw, permits)?;
            [&size.to_le_bytes()[..], &stream].concat()
        }
        (Frame::Size, _) => {
            let stream = encoding.encode_as(category, raw, permits)?;
            [header::write_size(raw.len() as u64), stream].concat()
        }
        (Frame::Waveform, Category::Waveform(waveform)) => {
            pcm::encode(waveform, *options_of::<Flac>(encoding)?, raw)?
        }
        (Frame::RawImage, Category::Fits(image)) => {
            raw_image::encode(image, *options_of::<Ricepp>(encoding)?, raw)?
        }
        (Frame::Waveform | Frame::RawImage, _) => {
            let name = category.name();
            let what = format!("compression `{encoding}` is not for {name}");
            return Err(Error::invalid(what));
        }
    };
    if payload.len() < raw.len() {
        Ok((row.id, payload))
    } else {
        Ok((id::NONE, raw.to_vec()))
    }
}

/// Returns the options of a codec of samples.
fn options_of<T: Encode>(encoding: &Encoding) -> Result<&T> {
    encoding
        .options()
        .ok_or_else(|| Error::invalid(format!("compression `{encoding}`: not of samples")))
}

/// Returns the sample format in a payload's header; `None` for codecs of bytes. `Corrupt` for a
/// damaged header.
pub(crate) fn samples(compression: u16, stored: &[u8]) -> Result<Option<Category>> {
    Ok(match compression {
        id::FLAC => Some(Category::Waveform(pcm::sample_format(stored)?)),
        id::RICEPP => Some(Category::Fits(raw_image::sample_format(stored)?)),
        _ => None,
    })
}

/// Splits an LZ4 payload into decoded size and block.
fn lz4_size(stored: &[u8]) -> Result<(u64, &[u8])> {
    let (size, block) = stored
        .split_first_chunk()
        .ok_or_else(|| Error::corrupt("lz4: no decoded size"))?;
    Ok((u32::from_le_bytes(*size).into(), block))
}

#[cold]
fn unknown(compression: u16) -> Error {
    Error::unsupported(format!("unknown compression {compression}"))
}
