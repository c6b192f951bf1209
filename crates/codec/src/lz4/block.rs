//! LZ4 blocks: a raw sequence stream without a header, whose decoded length the format stores
//! elsewhere (lz4_Block_format.md).
//!
//! **Invariant:** a length that the stream cannot have (more than 255 bytes for one) is refused
//! before anything is allocated.

use sinterfs_model::{Error, Result};

use crate::{wrong_length, zeroed};

/// The longest block of LZ4, in bytes.
const MAX_INPUT: usize = 0x7e00_0000;

/// The most decoded bytes for one byte of a block.
const MAX_RATIO: u64 = 255;

/// The block of no content: one token without literals and without a match.
const EMPTY: [u8; 1] = [0];

/// Decodes a block of exactly `decoded_len` bytes, which the caller has compared with its limit.
pub(super) fn decode(stream: &[u8], decoded_len: u64) -> Result<Vec<u8>> {
    let stored = stream.len() as u64;
    if decoded_len > MAX_INPUT as u64 || stored > i32::MAX as u64 {
        return Err(Error::corrupt(format!(
            "lz4: {decoded_len} bytes are too many for a block"
        )));
    }
    if decoded_len > stored.saturating_mul(MAX_RATIO) {
        return Err(Error::corrupt(format!(
            "lz4: {stored} bytes cannot hold the {decoded_len} that are promised"
        )));
    }
    if decoded_len == 0 {
        return if stream == EMPTY {
            Ok(Vec::new())
        } else {
            Err(Error::corrupt("lz4: not empty"))
        };
    }
    let mut decoded = zeroed(decoded_len)?;
    let found = lzzzz::lz4::decompress(stream, &mut decoded)
        .map_err(|_| Error::corrupt("lz4: damaged block"))?;
    if found as u64 != decoded_len {
        return Err(wrong_length("lz4", decoded_len, found as u64));
    }
    Ok(decoded)
}

/// Encodes into a block with the fast method; a level below 0 is faster still.
pub(super) fn encode(raw: &[u8], level: i32) -> Result<Vec<u8>> {
    check_input(raw)?;
    if raw.is_empty() {
        // the binding returns no bytes for an empty block
        return Ok(EMPTY.to_vec());
    }
    let mut encoded = Vec::new();
    let acceleration = 1i32.saturating_sub(level);
    lzzzz::lz4::compress_to_vec(raw, &mut encoded, acceleration).map_err(failed)?;
    Ok(encoded)
}

/// Encodes into a block with the high-compression method.
pub(super) fn encode_hc(raw: &[u8], level: i32) -> Result<Vec<u8>> {
    check_input(raw)?;
    if raw.is_empty() {
        // the binding returns no bytes for an empty block
        return Ok(EMPTY.to_vec());
    }
    let mut encoded = Vec::new();
    lzzzz::lz4_hc::compress_to_vec(raw, &mut encoded, level).map_err(failed)?;
    Ok(encoded)
}

/// Encodes as much as fits a block of at most `room` bytes, with the fast method; also returns how
/// much that is.
pub(super) fn fill(raw: &[u8], room: usize) -> Result<(usize, Vec<u8>)> {
    check_input(raw)?;
    let mut encoded = vec![0; room];
    let (taken, len) = lzzzz::lz4::compress_fill(raw, &mut encoded).map_err(failed)?;
    encoded.truncate(len);
    Ok((taken, encoded))
}

/// Encodes as much as fits a block of at most `room` bytes, with the high-compression method; also
/// returns how much that is.
pub(super) fn fill_hc(raw: &[u8], room: usize, level: i32) -> Result<(usize, Vec<u8>)> {
    check_input(raw)?;
    let mut encoded = vec![0; room];
    let (taken, len) = lzzzz::lz4_hc::compress_fill(raw, &mut encoded, level).map_err(failed)?;
    encoded.truncate(len);
    Ok((taken, encoded))
}

fn check_input(raw: &[u8]) -> Result<()> {
    if raw.len() > MAX_INPUT {
        return Err(Error::invalid(format!(
            "lz4: a block has up to {MAX_INPUT} bytes, this one {}",
            raw.len()
        )));
    }
    Ok(())
}

#[cold]
fn failed(error: lzzzz::Error) -> Error {
    Error::invalid("lz4: cannot encode").because(error)
}
