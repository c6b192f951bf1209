//! LZMA streams with the header of `.lzma` files: properties, dictionary size, decoded size.

use liblzma::stream::Stream;
use sinterfs_model::Result;

use super::limits::MAX_DICTIONARY;
use super::lzma_stream::{LZMA_TABLES, lzma_error, run_lzma};

/// Decodes one stream.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    let decoder = Stream::new_lzma_decoder(MAX_DICTIONARY + LZMA_TABLES);
    let decoder = decoder.map_err(|error| lzma_error("lzma", error))?;
    run_lzma(decoder, "lzma", stream, output)
}
