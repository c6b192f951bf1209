//! .xz streams of one block with CRC32, which drivers without CRC64 read; with a branch converter
//! if that makes the block smaller.

use liblzma::stream::{Check, Filters, LzmaOptions, PRESET_EXTREME, Stream};
use sinterfs_model::Result;

use super::options::XzOptions;
use super::smaller::smaller;
use crate::lzma2;
use crate::xz::{cannot_encode, chain, finish};

/// The smallest dictionary of LZMA2, in bytes.
const MIN_DICTIONARY: u32 = 4096;

/// Encodes into one stream; its dictionary is no longer than the block needs.
pub(super) fn encode(raw: &[u8], options: XzOptions<'_>) -> Result<Option<Vec<u8>>> {
    let extreme = if options.extreme { PRESET_EXTREME } else { 0 };
    let lzma = lzma_options(raw, options.level | extreme, options.dictionary)?;
    let mut best = encode_with(raw, Filters::new().lzma2(&lzma))?;
    for &bcj in options.converters {
        if !lzma2::changes(bcj, raw) {
            continue;
        }
        let mut filters = Filters::new();
        let filters = chain(&mut filters, bcj).lzma2(&lzma);
        let filtered = encode_with(raw, filters)?;
        if filtered.len() < best.len() {
            best = filtered;
        }
    }
    Ok(smaller(best, raw))
}

fn encode_with(raw: &[u8], filters: &Filters) -> Result<Vec<u8>> {
    let encoder = Stream::new_stream_encoder(filters, Check::Crc32).map_err(cannot_encode)?;
    finish(encoder, raw)
}

/// Returns a preset's options with a dictionary of `dictionary` bytes, or of the block's length
/// rounded up to a power of two if that is less.
pub(super) fn lzma_options(raw: &[u8], preset: u32, dictionary: u32) -> Result<LzmaOptions> {
    let mut options = LzmaOptions::new_preset(preset).map_err(cannot_encode)?;
    let needed = u32::try_from(raw.len()).unwrap_or(u32::MAX);
    let needed = needed.max(MIN_DICTIONARY).checked_next_power_of_two();
    options.dict_size(dictionary.min(needed.unwrap_or(u32::MAX)));
    Ok(options)
}
