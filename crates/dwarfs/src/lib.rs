//! DwarFS images, versions 2.0 to 2.6: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/dwarfs.md`.

pub mod check;
pub mod dump;
pub mod framing;
mod frozen;
pub mod layout;
pub mod read;
pub mod rewrite;
mod thrift;
pub mod write;
