//! LZMA with the header of `.lzma` files: properties, dictionary, length (lzma-file-format.txt).
//!
//! **Invariant:** the header contains the length; the stream has an end marker nevertheless, which
//! readers that use the length ignore.

use ::liblzma::stream::{LzmaOptions, Stream};
use sinterfs_model::{Error, Result};

use super::liblzma::{cannot_encode, finish};

/// The offset of the length in the header.
const LENGTH: std::ops::Range<usize> = 5..13;

/// The smallest dictionary of LZMA2, in bytes.
const MIN_DICTIONARY: u32 = 4096;

/// Returns a preset's options with a dictionary of `dictionary` bytes, or of the block's length
/// rounded up to a power of two if that is less.
pub(crate) fn lzma_options(raw: &[u8], preset: u32, dictionary: u32) -> Result<LzmaOptions> {
    let mut options = LzmaOptions::new_preset(preset).map_err(cannot_encode)?;
    let needed = u32::try_from(raw.len()).unwrap_or(u32::MAX);
    let needed = needed.max(MIN_DICTIONARY).checked_next_power_of_two();
    options.dict_size(dictionary.min(needed.unwrap_or(u32::MAX)));
    Ok(options)
}

/// Encodes with a preset from 0 to 9 and a dictionary of `dictionary` bytes, or of the block's
/// length if that is less.
pub(super) fn encode(raw: &[u8], preset: u32, dictionary: u32) -> Result<Vec<u8>> {
    let options = lzma_options(raw, preset, dictionary)?;
    let encoder = new_encoder(&options)?;
    let mut encoded = finish(encoder, raw)?;
    let length = encoded.get_mut(LENGTH);
    let length = length.ok_or_else(|| Error::invalid("lzma: no header"))?;
    length.copy_from_slice(&(raw.len() as u64).to_le_bytes());
    Ok(encoded)
}

fn new_encoder(options: &LzmaOptions) -> Result<Stream> {
    Stream::new_lzma_encoder(options).map_err(cannot_encode)
}
