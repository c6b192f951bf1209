//! Single xz streams: any filter chain of liblzma, any check.

use liblzma::stream::Stream;
use sinterfs_model::Result;

use crate::limits::MAX_DICTIONARY;
use crate::lzma::{LZMA_TABLES, lzma_error, run_lzma};

/// Decodes one stream; its check is compared.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    let decoder = Stream::new_stream_decoder(MAX_DICTIONARY + LZMA_TABLES, 0);
    let decoder = decoder.map_err(|error| lzma_error("xz", error))?;
    run_lzma(decoder, "xz", stream, output)
}
