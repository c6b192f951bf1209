//! Reads ext2, ext3 and ext4: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Ext`.
//!
//! **Invariant:** metadata is read and checked on demand; opening reads the superblock and the
//! group descriptors.

mod attributes;
mod blocks;
mod directory;
mod image;
mod inline;
mod listings;
mod losses;
mod open;

pub use losses::ExtLosses;
pub use open::{Ext, is_image};
pub use sinterfs_format::ReadOptions;
