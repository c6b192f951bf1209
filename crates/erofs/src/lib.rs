//! EROFS images, as Linux up to 6.18 mounts them: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/erofs.md`.

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
pub mod composefs;
pub mod dump;
pub mod format;
mod kernel;
pub mod layout;
pub mod lookalike;
mod overlay_attributes;
pub mod read;
pub mod write;

pub use kernel::Kernel;
