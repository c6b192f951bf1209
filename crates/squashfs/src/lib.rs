//! SquashFS images, versions 1.0 to 4.0: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/squashfs.md`.

pub mod check;
pub mod dump;
pub mod layout;
pub mod read;
pub mod write;
