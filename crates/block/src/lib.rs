//! Bytes to blocks and back: codecs, checksums, the cache of decoded blocks, positioned reads,
//! sinks.
//!
//! **Invariant:** knows no format. The framing around a codec's stream (sizes, ids) is up to the
//! format; here is only the codec's own stream. Nothing here trusts its input: a decoder returns
//! the promised number of bytes or an error, and allocates nothing above its limit.

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

pub mod cache;
pub mod checksum;
pub mod codec;
pub mod digest;
mod locks;
mod sink;
mod source;
pub mod stream;
pub mod verity;

pub use sink::Sink;
pub use source::{
    Bytes, ChecksummedWindow, FileSource, MemorySource, ReadAt, SequentialReader, Window,
};
