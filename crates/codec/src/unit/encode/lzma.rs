//! LZMA with the header of `.lzma` files: properties, dictionary, length (lzma-file-format.txt).
//!
//! **Invariant:** the header contains the length; the stream has an end marker nevertheless, which
//! readers that use the length ignore.

use liblzma::stream::{LzmaOptions, Stream};
use sinterfs_model::{Error, Result};

use super::smaller::smaller;
use crate::xz::{cannot_encode, finish};

/// The offset of the length in the header.
const LENGTH: std::ops::Range<usize> = 5..13;

/// Encodes with a preset from 0 to 9 and a dictionary of `dictionary` bytes, or of the block's
/// length if that is less.
pub(super) fn encode(raw: &[u8], preset: u32, dictionary: u32) -> Result<Option<Vec<u8>>> {
    let options = super::xz::lzma_options(raw, preset, dictionary)?;
    let encoder = new_encoder(&options)?;
    let mut encoded = finish(encoder, raw)?;
    let length = encoded.get_mut(LENGTH);
    let length = length.ok_or_else(|| Error::invalid("lzma: no header"))?;
    length.copy_from_slice(&(raw.len() as u64).to_le_bytes());
    Ok(smaller(encoded, raw))
}

fn new_encoder(options: &LzmaOptions) -> Result<Stream> {
    Stream::new_lzma_encoder(options).map_err(cannot_encode)
}
