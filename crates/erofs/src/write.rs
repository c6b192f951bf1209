//! Writing EROFS images: blocks as they come, then names, attributes and inodes, the superblock last.
//!
//! In: encoded blocks in sequence, at the end the tree and the map of its content. Out: an image.
//! **Invariant:** the image depends on what is put and on the options alone, not on the number of
//! threads. Format: `docs/formats/erofs.md`.

mod body;
mod chunk_map;
mod cluster_map;
mod compression;
mod cut;
mod digest_index;
pub(crate) mod directories;
mod encoded;
mod encoder;
mod extent_map;
mod image_out;
pub(crate) mod inode_offsets;
pub(crate) mod inodes;
mod metadata;
mod options;
mod packed_tails;
mod prefixes;
mod search;
mod superblock;
mod times;
mod unit_table;
mod volume_id;
mod writer;
pub(crate) mod xattrs;

pub use compression::Compression;
pub use options::{Extended, WriteOptions};
pub use volume_id::{DeviceName, Label, Uuid};
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
