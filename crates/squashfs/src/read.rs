//! Reads SquashFS images of every version: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Squashfs`.
//!
//! **Invariant:** nothing of an image is trusted: what is read on demand is checked each time, see
//! `open`.

mod ahead;
mod checkpoints;
mod content;
mod directory;
mod directory_index;
mod dirent;
mod fields;
mod image;
mod image_core;
mod info;
mod inode;
mod known_directories;
mod legacy;
mod locate;
pub(crate) mod metadata;
mod open;
mod parent_lookup;
mod parents;
pub(crate) mod record;
mod sequence;
mod superblock;
pub(crate) mod table;
mod xattrs;

pub use fields::FieldOrder;
pub use info::{CompressorOptions, StoredBlock};
pub use locate::{locate, starts_with_magic};
pub use open::Squashfs;
pub use sinterfs_format::ReadOptions;
pub use superblock::Superblock;
