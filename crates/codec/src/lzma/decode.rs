//! LZMA streams with the header of `.lzma` files: properties, dictionary size, decoded size.
//!
//! liblzma decodes literal contexts of up to 4 bits, as xz writes them. The format allows up to 12,
//! and Cromfs' tool chooses them: these are decoded by another library.

use std::io::Read;

use ::liblzma::stream::Stream;
use lzma_rust2::LzmaReader;
use sinterfs_model::{Error, Result};

use super::liblzma::{LZMA_TABLES, lzma_error, run_lzma};
use crate::limits::{MAX_DICTIONARY, too_long};

/// The most bits of a literal's context for liblzma.
const CONTEXT_MAX: u8 = 4;

/// Decodes one stream.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    if context_bits(stream) > CONTEXT_MAX {
        return decode_wide(stream, output);
    }
    let decoder = Stream::new_lzma_decoder(MAX_DICTIONARY + LZMA_TABLES);
    let decoder = decoder.map_err(|error| lzma_error("lzma", error))?;
    run_lzma(decoder, "lzma", stream, output)
}

/// Returns the bits of a literal's context by the properties.
fn context_bits(stream: &[u8]) -> u8 {
    let properties = stream.first().copied().unwrap_or(0);
    // (pb * 5 + lp) * 9 + lc
    properties % 9 + properties / 9 % 5
}

/// Decodes a stream with any literal context.
fn decode_wide(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    let limit = u32::try_from((MAX_DICTIONARY + LZMA_TABLES) >> 10).unwrap_or(u32::MAX);
    let decoder = LzmaReader::new_mem_limit(stream, limit, None);
    let mut decoder = decoder.map_err(wide_error)?;
    let mut len = 0;
    while let Some(room) = output.get_mut(len..).filter(|room| !room.is_empty()) {
        match decoder.read(room).map_err(wide_error)? {
            0 => return Ok(len),
            more => len += more,
        }
    }
    // one byte more, to detect a stream that is too long
    if decoder.read(&mut [0]).map_err(wide_error)? > 0 {
        return Err(too_long("lzma", output));
    }
    Ok(len)
}

#[cold]
fn wide_error(error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::OutOfMemory {
        let what = format!("lzma: the dictionary is above the limit of {MAX_DICTIONARY} bytes");
        return Error::limit(what);
    }
    Error::corrupt("lzma: damaged stream").because(error)
}
