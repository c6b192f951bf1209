//! Writes CRAMFS images of version 2: superblock, listings, then content.
//!
//! In: encoded blocks in sequence, then the tree and the map of its content. Out: an image.
//! **Invariant:** the image depends only on these and on the options. Format:
//! `docs/formats/cramfs.md`.

mod compression;
mod contents;
mod inventory;
mod listings;
mod losses;
mod options;
mod parts;
mod writer;
mod zlib_encoder;

pub use compression::ZlibCompression;
pub use options::{CramfsOptions, WriteOptions};
pub use writer::CramfsWriter;
