//! Reads romfs images: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Romfs`.
//!
//! **Invariant:** all inodes are read when an image is opened; what is damaged of a directory is an
//! error of its listing.

mod image;
mod inodes;
mod open;
mod record;

pub use open::{Romfs, is_image};
pub(crate) use record::adds_up;
pub use sinterfs_format::ReadOptions;
