//! ISO 9660 images with Rock Ridge, Joliet and zisofs: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/iso9660.md`.

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
pub mod dump;
pub mod format;
pub mod layout;
pub mod read;
pub mod write;
