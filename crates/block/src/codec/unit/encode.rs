//! Encoders of units, one file each.
//!
//! In: a unit. Out: its stream, or `None` where that is not smaller than the unit: formats that cut
//! content into units store it then.
//!
//! **Invariant:** the result depends on the block and the options alone. What an encoder keeps between
//! blocks (tables of zlib, LZO and zstd) belongs to the thread.

pub mod lzma;
pub mod lzo;
pub mod xz;
pub mod zlib;

#[cfg(test)]
mod tests;

use model::Result;

use crate::codec::{lz4, zstd};

/// Encodes into an LZ4 block with the fast method, whose levels end at 0.
pub fn lz4(raw: &[u8], level: i32) -> Result<Option<Vec<u8>>> {
    Ok(smaller(lz4::encode(raw, level)?, raw))
}

/// Encodes into an LZ4 block with the high-compression method.
pub fn lz4_hc(raw: &[u8], level: i32) -> Result<Option<Vec<u8>>> {
    Ok(smaller(lz4::encode_hc(raw, level)?, raw))
}

/// Encodes into a zstd frame with a content size and without a checksum.
pub fn zstd(raw: &[u8], level: i32) -> Result<Option<Vec<u8>>> {
    Ok(smaller(zstd::encode(raw, level, None, false)?, raw))
}

fn smaller(encoded: Vec<u8>, raw: &[u8]) -> Option<Vec<u8>> {
    (encoded.len() < raw.len()).then_some(encoded)
}
