//! SquashFS images, versions 1.0 to 4.0: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/squashfs.md`.

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

pub mod check;
mod codecs;
pub mod dump;
pub mod format;
pub mod layout;
pub mod read;
pub mod write;
