//! Codecs: a folder each, and [`CODECS`], their table; [`stream`] decodes files that are compressed
//! as a whole.
//!
//! In: a stream in memory. Out: a block in memory, or, by a [`Decoder`], its next bytes; and the
//! reverse by an [`Encoding`], which names a codec with its options. A new codec is a folder, a row
//! of `table.rs`, and the id that a format gives it.
//!
//! **Invariants:** knows no format: the bytes around a codec's stream (sizes, ids) are
//! the format's business. A decoder returns exactly the declared number of bytes or an error;
//! nothing is allocated above the caller's limit (xz and brotli also have a window, bounded in
//! their modules). Contexts of zlib and zstd are kept per thread, so a thread that has encoded with
//! a high level keeps that level's tables until it ends; decoders of xz and LZMA are made for each
//! unit and may take a dictionary of `MAX_DICTIONARY` bytes.

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
#[cfg(feature = "brotli")]
mod brotli;
mod bytes;
#[cfg(feature = "streams")]
mod bzip2;
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]
mod chunk_parser;
mod codec;
mod cost;
mod decoder;
#[cfg(feature = "deflate")]
mod deflate;
mod encoding;
pub mod flac;
mod limits;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lzma")]
mod lzma;
mod lzma2;
pub mod lzms;
#[cfg(feature = "lzo")]
mod lzo;
pub mod lzx;
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]
mod match_finder;
mod micro_lzma;
mod null;
mod options;
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]
mod parse_window;
#[cfg(any(feature = "deflate", feature = "zstd"))]
mod part;
mod prefix_code;
pub mod raw;
pub mod ricepp;
mod share;
pub mod stream;
mod table;
#[cfg(any(feature = "lz4", feature = "streams"))]
mod whole;
pub mod xpress;
#[cfg(feature = "lzma")]
mod xz;
pub mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(test)]
mod encode_tests;
#[cfg(test)]
mod encoding_tests;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod unit_tests;

use sinterfs_model::{Error, Result};

pub use bcj::Bcj;
pub use bytes::Bytes;
pub use codec::{Codec, Encode, Filling, Hints, StepDecoder};
pub use decoder::Decoder;
pub use encoding::{Dialect, Encoding};
pub use limits::{MAX_CONTENT, MAX_DICTIONARY};
pub use options::{Options, Readers};
pub use table::{CODECS, Choice, CodecId};

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
