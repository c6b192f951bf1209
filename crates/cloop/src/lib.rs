//! Compressed block devices of cloop, version 2: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/cloop.md`.

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

mod device;
mod header;
mod write;

pub use device::{CloopDevice, OpenOptions};
pub use header::{CloopHeader, is_image};
pub use write::{WriteOptions, WriteReport, write};
