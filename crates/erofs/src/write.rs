//! Writing EROFS images: blocks as they come, then names, attributes and inodes, the superblock
//! last.
//!
//! In: encoded blocks in sequence, at the end the tree and the map of its content. Out: an image.
//! **Invariant:** the image depends only on the blocks that are put and on the options, not on the
//! number of threads. Format: `docs/formats/erofs.md`.

#![expect(
    clippy::cast_possible_truncation,
    reason = "blocks, inodes and bytes of a unit are limited to 2^32 each before layout"
)]

mod body;
mod chunk_map;
mod cluster_map;
mod compression;
mod content_tables;
mod cut;
mod dedupe;
mod digest_index;
pub(crate) mod directories;
mod encoded;
mod encoder;
mod extended;
mod extent_map;
mod image_out;
mod inline_tails;
pub(crate) mod inode_offsets;
pub(crate) mod inodes;
mod limits;
mod metadata;
mod options;
mod packed_inode;
mod packed_tails;
mod prefixes;
mod search;
mod sideband;
mod slice_table;
mod superblock;
mod times;
mod unit_table;
mod volume_id;
mod writer;
mod xattr_name;
pub(crate) mod xattrs;

pub use compression::Compression;
pub use extended::Extended;
pub use limits::BlockSize;
pub(crate) use limits::{BLOCK, BLOCK_BITS};
pub use options::{ErofsOptions, WriteOptions};
pub use prefixes::XattrPrefixes;
pub use volume_id::{DeviceName, Label, Uuid};
pub use writer::ErofsWriter;
