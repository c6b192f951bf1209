//! Blocks of images: positioned reads, checksums, digests, the cache of decoded blocks, sinks.
//!
//! **Invariant:** knows no format. Nothing here trusts its input: what is read is as long as it was
//! promised to be, or an error.

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
pub mod digest;
mod locks;
mod sink;
mod source;
pub mod verity;

use sinterfs_codec as codec;

pub use codec::Bytes;
pub use sink::Sink;
pub use source::{ChecksummedWindow, FileSource, MemorySource, ReadAt, SequentialReader, Window};
