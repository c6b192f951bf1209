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

use sinterfs_codec::Bytes;
use sinterfs_block::cache::Opened;
use sinterfs_codec::{Decoder, Encoding, brotli, check_limit, lz4, xz, zstd};
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

/// Returns upstream's name of a compression id.
pub fn name(compression: u16) -> Option<&'static str> {
    Some(match compression {
        id::NONE => "NONE",
        id::LZMA => "LZMA",
        id::ZSTD => "ZSTD",
        id::LZ4 => "LZ4",
        id::LZ4HC => "LZ4HC",
        id::BROTLI => "BROTLI",
        id::FLAC => "FLAC",
        id::RICEPP => "RICEPP",
        _ => return None,
    })
}

/// Returns the decoded length of a payload in bytes, without decoding it. `Limit` if it is above
/// `limit`, `Unsupported` for an unknown id, `Corrupt` for a damaged payload.
pub fn decoded_len(compression: u16, stored: &[u8], limit: u64) -> Result<u64> {
    let len = match compression {
        id::NONE => stored.len() as u64,
        id::LZMA => xz::decoded_len(stored)?,
        id::ZSTD => zstd::decoded_len(stored)?,
        id::LZ4 | id::LZ4HC => lz4_size(stored)?.0,
        id::BROTLI | id::FLAC | id::RICEPP => header::size(stored)?.0,
        _ => return Err(unknown(compression)),
    };
    check_limit(len, limit)?;
    Ok(len)
}

/// Decodes a payload of up to `limit` decoded bytes. `Limit` if there are more, `Unsupported` for
/// an unknown id, `Corrupt` for a damaged payload.
pub fn decode(compression: u16, stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    match compression {
        id::NONE => {
            check_limit(stored.len() as u64, limit)?;
            Ok(stored.to_vec())
        }
        id::LZMA => xz::decode(stored, limit),
        id::ZSTD => zstd::decode(stored, limit),
        id::LZ4 | id::LZ4HC => {
            let (len, block) = lz4_size(stored)?;
            check_limit(len, limit)?;
            lz4::decode(block, len)
        }
        id::BROTLI => {
            let (len, stream) = header::size(stored)?;
            check_limit(len, limit)?;
            brotli::decode(stream, len)
        }
        id::FLAC => pcm::decode(stored, limit),
        id::RICEPP => raw_image::decode(stored, limit),
        _ => Err(unknown(compression)),
    }
}

/// Blocks of up to this decoded length are decoded at once, in bytes.
const SMALL: u64 = 256 << 10;

/// Opens a payload for reading, with the errors of [`decode`]. Large payloads of codecs that
/// support it are decoded incrementally, on demand.
pub fn open(compression: u16, stored: &Bytes, limit: u64) -> Result<Opened> {
    let decoder = match compression {
        id::LZMA | id::ZSTD | id::BROTLI if decoded_len(compression, stored, limit)? <= SMALL => {
            None
        }
        id::LZMA => Some(Decoder::xz(stored.clone(), limit)?),
        id::ZSTD => Some(Decoder::zstd(stored.clone(), limit)?),
        id::BROTLI => {
            let (len, rest) = header::size(stored)?;
            let skip = stored.len().saturating_sub(rest.len());
            Some(Decoder::brotli(stored.clone().skip(skip), len)?)
        }
        _ => None,
    };
    Ok(match decoder {
        Some(decoder) => Opened::Encoded(Box::new(decoder)),
        None => Opened::Decoded(decode(compression, stored, limit)?),
    })
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
    let (id, payload) = match encoding {
        Encoding::None => return Ok((id::NONE, raw.to_vec())),
        Encoding::Zstd { .. } => (id::ZSTD, encoding.encode(raw)?),
        Encoding::ZstdOptimal { .. } => (id::ZSTD, encoding.encode_as(category, raw, permits)?),
        Encoding::Lzma { .. } => (id::LZMA, encoding.encode(raw)?),
        Encoding::Lzma2 { .. } => (id::LZMA, encoding.encode_as(category, raw, permits)?),
        Encoding::Lz4 { .. } | Encoding::Lz4Hc { .. } => {
            let size = u32::try_from(raw.len()).map_err(|_| {
                Error::invalid(format!("lz4: a block of {} bytes is too long", raw.len()))
            })?;
            (
                id::LZ4,
                [&size.to_le_bytes()[..], &encoding.encode(raw)?].concat(),
            )
        }
        Encoding::Brotli { .. } => {
            let mut payload = header::write_size(raw.len() as u64);
            payload.extend(encoding.encode(raw)?);
            (id::BROTLI, payload)
        }
        &Encoding::Flac { level, exhaustive } => {
            let Category::Waveform(waveform) = category else {
                return Err(not_for(encoding, category));
            };
            let effort = pcm::Effort { level, exhaustive };
            (id::FLAC, pcm::encode(waveform, effort, raw)?)
        }
        &Encoding::Ricepp { block_size } => {
            let Category::Fits(image) = category else {
                return Err(not_for(encoding, category));
            };
            (id::RICEPP, raw_image::encode(image, block_size, raw)?)
        }
        other => {
            return Err(Error::unsupported(format!(
                "dwarfs has no compression `{other}`"
            )));
        }
    };
    if payload.len() < raw.len() {
        Ok((id, payload))
    } else {
        Ok((id::NONE, raw.to_vec()))
    }
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
fn not_for(encoding: &Encoding, category: Category) -> Error {
    let name = category.name();
    Error::invalid(format!("compression `{encoding}` is not for {name}"))
}

#[cold]
fn unknown(compression: u16) -> Error {
    Error::unsupported(format!("unknown compression {compression}"))
}
