//! Single LZ4 frames.

use lzzzz::lz4f::BufReadDecompressor;
use sinterfs_model::{Error, Result};

use super::whole::read_whole;

/// Decodes one frame; its checks are compared.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    let decoder = BufReadDecompressor::new(stream);
    let mut decoder =
        decoder.map_err(|error| Error::corrupt(format!("lz4: cannot decode a frame: {error}")))?;
    read_whole("lz4", &mut decoder, output)
}
