//! Single LZ4 frames.

use lzzzz::lz4f::BufReadDecompressor;
use sinterfs_model::{Error, Result};

use crate::whole::read_whole;

/// Decodes one frame; its checks are compared. Fails if the frame does not end in the stream: the
/// library takes the end of its input for the end of a frame.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    if !is_whole(stream) {
        return Err(Error::corrupt("lz4: a frame without its end"));
    }
    let decoder = BufReadDecompressor::new(stream);
    let mut decoder =
        decoder.map_err(|error| Error::corrupt(format!("lz4: cannot decode a frame: {error}")))?;
    read_whole("lz4", &mut decoder, output)
}

/// Returns whether the blocks of a frame and its end are in the stream (LZ4 frame format
/// 1.6).
fn is_whole(stream: &[u8]) -> bool {
    let Some(&flags) = stream.get(4) else {
        return false;
    };
    let bytes_if = |bit: u8, bytes: usize| if flags & bit == 0 { 0 } else { bytes };
    // magic, flags, block descriptor, content size, dictionary, checksum of the header
    let mut at = 6 + bytes_if(8, 8) + bytes_if(1, 4) + 1;
    while let Some(size) = stream.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let size = u32::from_le_bytes(*size);
        at += 4;
        if size == 0 {
            return at + bytes_if(4, 4) <= stream.len();
        }
        // the highest bit marks a block that is not compressed
        at = at.saturating_add((size & 0x7fff_ffff) as usize + bytes_if(16, 4));
    }
    false
}
