//! Reads Cromfs images: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Cromfs`.
//!
//! **Invariant:** all inodes, directories and tables are checked when an image is opened; content
//! is decoded when it is read.

mod budget;
mod content;
mod fblocks;
mod image;
mod inodes;
mod listing;
mod lzma;
mod open;

pub use open::{Cromfs, is_image};
pub use sinterfs_format::ReadOptions;
