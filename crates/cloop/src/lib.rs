//! Compressed block devices of cloop, versions 0.68 to 4: nothing else knows their bytes.
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
mod index;
mod layout;
mod write;

pub use device::{CloopDevice, OpenOptions};
pub use header::{CloopHeader, is_image, is_image_by_end};
pub use index::BlockCodec;
pub use layout::CloopVersion;
pub use write::{WriteOptions, WriteReport, WrittenVersion, write};
