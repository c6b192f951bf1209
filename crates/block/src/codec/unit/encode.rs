//! Encoders of units, one file each.
//!
//! In: a unit. Out: its stream, or `None` if that is not smaller than the unit: formats that cut
//! content into units store the unit then.
//!
//! **Invariant:** the result depends on the block and the options alone. Tables that encoders keep
//! between blocks (zlib, LZO and zstd) belong to the thread.

pub mod lzma;
pub mod lzo;
pub mod micro_lzma;
pub mod xz;
pub mod zlib;

#[cfg(test)]
mod tests;

use sinterfs_model::Result;

use crate::codec::{lz4, zstd};

/// Encodes into an LZ4 block with the fast method; `level` is at most 0.
pub fn lz4(raw: &[u8], level: i32) -> Result<Option<Vec<u8>>> {
    Ok(smaller(lz4::encode(raw, level)?, raw))
}

/// Encodes into an LZ4 block with the high-compression method.
pub fn lz4_hc(raw: &[u8], level: i32) -> Result<Option<Vec<u8>>> {
    Ok(smaller(lz4::encode_hc(raw, level)?, raw))
}

/// Encodes as much of `raw`, which is not empty, as fits an LZ4 block of at most `room` bytes, with
/// the fast method; also returns how much that is.
pub fn lz4_fill(raw: &[u8], output: usize) -> Result<(usize, Vec<u8>)> {
    lz4::fill(raw, output)
}

/// Encodes as much of `raw`, which is not empty, as fits an LZ4 block of at most `room` bytes, with
/// the high-compression method; also returns how much that is.
pub fn lz4_hc_fill(raw: &[u8], output: usize, level: i32) -> Result<(usize, Vec<u8>)> {
    lz4::fill_hc(raw, output, level)
}

/// Encodes into a zstd frame with a content size and without a checksum.
pub fn zstd(raw: &[u8], level: i32) -> Result<Option<Vec<u8>>> {
    Ok(smaller(zstd::encode(raw, level, None, false)?, raw))
}

/// Encodes into such a frame with a window of at most `2^window` bytes.
pub fn zstd_window(raw: &[u8], level: i32, window: u32) -> Result<Option<Vec<u8>>> {
    let window = (raw.len() > 1 << window).then_some(window);
    Ok(smaller(zstd::encode(raw, level, window, false)?, raw))
}

fn smaller(encoded: Vec<u8>, raw: &[u8]) -> Option<Vec<u8>> {
    (encoded.len() < raw.len()).then_some(encoded)
}
