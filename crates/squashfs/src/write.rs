//! Writes SquashFS images of version 4.0: blocks in sequence, then the tables, the superblock last.
//!
//! In: encoded blocks in sequence, then the tree and the map of its content. Out: an image.
//! **Invariant:** the image depends only on these and on the options, not on the number of threads.
//! Format: `docs/formats/squashfs.md`.

mod compression;
mod directories;
mod encoder;
mod files;
mod ids;
mod inodes;
mod listing;
mod numbering;
mod options;
mod stream;
mod tables;
mod writer;
mod xattrs;

pub use compression::Compression;
pub use options::{SquashfsOptions, UncompressedPart, UncompressedParts, WriteOptions};
pub use writer::SquashfsWriter;
