//! Reads CRAMFS images: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Cramfs`.
//!
//! **Invariant:** all inodes are checked when an image is opened, block pointers whenever they are
//! used.

mod block_size;
mod blocks;
mod content;
mod image;
mod nodes;
mod open;
mod superblock;

pub use blocks::{BlockLocation, Stored};
pub use open::Cramfs;
pub use sinterfs_format::ReadOptions;
pub use superblock::{SuperblockFields, is_image};
