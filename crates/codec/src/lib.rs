//! Codecs: one module each, with `decode` from the codec's own stream, and [`Encoding`], which
//! names a codec with its options and encodes.
//!
//! In: a whole stream in memory. Out: a whole block in memory, or, by a [`Decoder`], its next
//! bytes.
//!
//! **Invariants:** a decoder returns exactly the declared number of bytes or an error; nothing is
//! allocated above the caller's limit (xz and brotli also have a window, bounded in their modules);
//! an encoder's result depends on its input and options alone, not on the idle threads that it
//! uses. Contexts of zstd are kept per thread, so a thread that has encoded with a high level keeps
//! that level's tables until it ends.

#![warn(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "a test may panic"
    )
)]

mod bcj;
#[cfg_attr(not(feature = "brotli"), path = "missing/brotli.rs")]
pub mod brotli;
mod bytes;
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]
mod chunk_parser;
mod cost;
mod decoder;
mod encoding;
pub mod flac;
pub mod levels;
#[cfg_attr(not(feature = "lz4"), path = "missing/lz4.rs")]
pub mod lz4;
mod lzma2;
pub mod lzms;
pub mod lzx;
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]
mod match_finder;
pub(crate) mod missing;
mod options;
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]
mod parse_window;
mod prefix_code;
pub mod ricepp;
mod share;
pub mod stream;
pub mod unit;
pub mod xpress;
#[cfg_attr(not(feature = "lzma"), path = "missing/xz.rs")]
pub mod xz;
mod xz_options;
#[cfg_attr(not(feature = "zstd"), path = "missing/zstd.rs")]
pub mod zstd;
mod zstd_options;

#[cfg(test)]
mod encoding_tests;
#[cfg(test)]
mod shapes;

use sinterfs_model::{Error, Result};

pub use bcj::{Bcj, Binary};
pub use bytes::Bytes;
pub use decoder::Decoder;
pub use encoding::Encoding;
pub use options::Options;

/// Fails with `Limit` if a decoded length exceeds the caller's limit.
pub fn check_limit(decoded: u64, limit: u64) -> Result<()> {
    if decoded <= limit {
        return Ok(());
    }
    Err(Error::limit(format!(
        "{decoded} decoded bytes are above the limit of {limit}"
    )))
}

/// Makes an empty vector with a capacity of `len` bytes. Fails with `Limit` if memory is short.
fn with_room(len: u64) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    match usize::try_from(len).map(|len| room.try_reserve_exact(len)) {
        Ok(Ok(())) => Ok(room),
        _ => Err(Error::limit(format!("no memory for {len} bytes"))),
    }
}

/// Makes a vector of `len` zeros. Fails with `Limit` if memory is short.
pub fn zeroed(len: u64) -> Result<Vec<u8>> {
    let mut zeros = with_room(len)?;
    zeros.resize(
        zeros
            .capacity()
            .min(usize::try_from(len).unwrap_or(usize::MAX)),
        0,
    );
    Ok(zeros)
}

/// Makes the error for a stream whose decoded length differs from the declared one.
#[cold]
fn wrong_length(codec: &str, expected: u64, found: u64) -> Error {
    Error::corrupt(format!(
        "{codec}: expected {expected} decoded bytes, found {found}"
    ))
}
