//! Encoders of units, one file each.
//!
//! In: a unit. Out: its stream, or `None` if that is not smaller than the unit: formats that cut
//! content into units store the unit then.
//!
//! **Invariant:** the result depends on the block and the options alone. Tables that encoders keep
//! between blocks (zlib, LZO and zstd) belong to the thread.

#[cfg(feature = "lzma")]
mod lzma;
#[cfg(feature = "lzo")]
mod lzo;
pub mod micro_lzma;
mod options;
mod smaller;
mod stored_zlib;
#[cfg(feature = "lzma")]
mod xz;
#[cfg(feature = "deflate")]
mod zlib;

#[cfg(test)]
mod tests;

use sinterfs_model::Result;

use crate::missing::built_in;
use crate::{lz4, zstd};

pub use options::{XzOptions, ZLIB_LEVELS};
use smaller::smaller;
pub use stored_zlib::{stored_zlib, stored_zlib_len};

/// Encodes into a zlib stream. Fails with `Invalid` for a level out of [`ZLIB_LEVELS`].
pub fn zlib(raw: &[u8], level: i32) -> Result<Option<Vec<u8>>> {
    built_in!("deflate", "zlib", zlib::encode(raw, level))
}

/// Encodes into an LZMA stream with the header of `.lzma` files, with a preset from 0 to 9 and a
/// dictionary of `dictionary` bytes, or of the block's length if that is less.
pub fn lzma(raw: &[u8], preset: u32, dictionary: u32) -> Result<Option<Vec<u8>>> {
    built_in!("lzma", "lzma", lzma::encode(raw, preset, dictionary))
}

/// Encodes into an LZO1X stream.
pub fn lzo(raw: &[u8]) -> Result<Option<Vec<u8>>> {
    built_in!("lzo", "lzo", lzo::encode(raw))
}

/// Encodes into an .xz stream of one block; its dictionary is no longer than the block needs.
pub fn xz(raw: &[u8], options: XzOptions<'_>) -> Result<Option<Vec<u8>>> {
    built_in!("lzma", "xz", xz::encode(raw, options))
}

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
