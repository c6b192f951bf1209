//! An .lzma stream, the format before .xz, decoded from front to back.
//!
//! Spec: lzma-file-format.txt of xz: a byte of properties, the size of the dictionary, the length
//! of the content or -1.

use std::io::BufRead;

use liblzma::bufread::XzDecoder;
use liblzma::stream::Stream;
use sinterfs_model::{Error, Result};

use super::decoder::Decoder;
use super::input::Input;
use super::window::WINDOW_LOG_MAX;

/// The most memory of a decoder, in bytes: the largest dictionary and its tables.
const MEMORY: u64 = (1 << WINDOW_LOG_MAX) + (1 << 20);

/// Starts to decode. Fails with `Limit` if there is no memory for a decoder.
pub(super) fn decoder<R: BufRead + Send + 'static>(input: Input<R>) -> Result<Box<dyn Decoder<R>>> {
    let decoder = Stream::new_lzma_decoder(MEMORY);
    let decoder = decoder.map_err(|error| Error::limit("lzma: no decoder").because(error))?;
    Ok(Box::new(XzDecoder::new_stream(input, decoder)))
}
