//! Reads EROFS images: opens them, and answers the questions of `sinterfs_model::Image`.
//!
//! In: a source of bytes, and the sources of further devices. Out: `Erofs`. **Invariant:** no
//! object is kept for an inode.

mod checked_tables;
mod config;
mod device;
mod directory;
mod erofs;
mod facts;
mod found_extents;
mod image;
mod inode;
mod inspect;
mod map;
mod mapped;
mod meta_offset;
mod metadata;
mod node;
mod open;
mod pages;
mod pcluster;
mod prefix;
mod superblock;
mod xattr;

pub use crate::layout::Algorithm;
pub use config::Configs;
pub use device::{DeviceIdentity, Slot};
pub use erofs::Erofs;
pub use facts::{EntryFacts, InodeFacts, StoredExtent};
pub(crate) use inspect::Inspected;
pub use inspect::StoredRun;
pub(crate) use node::ErofsInode;
pub use open::{checked_part, is_image, needed_devices};
pub use sinterfs_format::ReadOptions;
pub use superblock::Superblock;
