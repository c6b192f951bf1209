//! DwarFS images, versions 2.0 to 2.6: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/dwarfs.md`.

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
pub mod framing;
mod frozen;
pub mod layout;
pub mod read;
pub mod rewrite;
mod thrift;
pub mod write;
