//! Writing EROFS images: blocks as they come, then names, attributes and inodes, the superblock last.
//!
//! In: encoded blocks in sequence, at the end the tree and the map of its content. Out: an image.
//! **Invariant:** the image depends on what is put and on the options alone, not on the number of
//! threads. Format: `docs/formats/erofs.md`.

mod around;
mod chunks;
mod clusters;
mod compression;
mod content;
pub(crate) mod directories;
mod encoder;
mod extents;
mod fit;
pub(crate) mod inodes;
mod metadata;
mod names;
mod options;
mod out;
mod parts;
pub(crate) mod places;
mod prefixes;
mod repeats;
mod rests;
mod superblock;
mod times;
mod units;
mod writer;
pub(crate) mod xattrs;

pub use compression::Compression;
pub use names::{DeviceName, Label, Uuid};
pub use options::{Extended, WriteOptions};
pub use writer::ErofsWriter;

/// Bytes of a block of the file system, as a power of two.
pub(crate) const BLOCK_BITS: u8 = 12;

/// Bytes of a block of the file system.
pub(crate) const BLOCK: u64 = 1 << BLOCK_BITS;

/// The longest end of content that is kept behind its inode, so that one place or another in a block has
/// room for it.
pub(crate) const INLINE_MAX: u64 = BLOCK - 64;

/// The longest end of a file there. Two longer ones do not share a block, so they gain little, and who reads all
/// inodes reads them, too.
const END_MAX: u64 = BLOCK / 2;
