//! An .lzma stream, the format before .xz, decoded from front to back.

use std::io::{BufRead, Read};

use liblzma::bufread::XzDecoder;
use liblzma::stream::Stream;
use sinterfs_model::{Error, Result};

use super::window::WINDOW_LOG_MAX;

/// The most memory of a decoder, in bytes: the largest dictionary and its tables.
const MEMORY: u64 = (1 << WINDOW_LOG_MAX) + (1 << 20);

/// Starts to decode. Fails with `Limit` if there is no memory for a decoder.
pub(super) fn decode<R: BufRead + Send + 'static>(stream: R) -> Result<Box<dyn Read + Send>> {
    let decoder = Stream::new_lzma_decoder(MEMORY);
    let decoder = decoder.map_err(|error| Error::limit("lzma: no decoder").because(error))?;
    Ok(Box::new(XzDecoder::new_stream(stream, decoder)))
}
