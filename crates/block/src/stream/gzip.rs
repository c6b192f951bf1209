//! Concatenated gzip members, decoded one after the other.

use std::io::{BufRead, Read};

use sinterfs_model::Result;

/// Starts to decode.
pub(super) fn decode<R: BufRead + Send + 'static>(stream: R) -> Result<Box<dyn Read + Send>> {
    Ok(Box::new(flate2::bufread::MultiGzDecoder::new(stream)))
}
