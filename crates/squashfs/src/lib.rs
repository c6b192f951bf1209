//! SquashFS images: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/squashfs.md`.

pub mod layout;
pub mod write;
