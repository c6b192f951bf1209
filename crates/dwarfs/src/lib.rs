//! DwarFS images, versions 2.0 to 2.6: nothing else knows their bytes.
//!
//! The format is described in `docs/formats/dwarfs.md`.

pub mod framing;
#[allow(dead_code, reason = "the reader that uses all of it follows")]
mod frozen;
pub mod layout;
#[allow(dead_code, reason = "the reader that uses all of it follows")]
mod thrift;
pub mod write;
