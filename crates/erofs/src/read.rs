//! Reads EROFS images: opens them, and answers the questions of `sinterfs_model::Image`.
//!
//! In: a source of bytes, and the sources of further devices. Out: `Erofs`. **Invariant:** no
//! object is kept for an inode.

mod config;
mod device;
mod directory;
mod erofs;
mod facts;
mod image;
mod inode;
mod inspect;
mod map;
mod meta_offset;
mod metadata;
mod node;
mod open;
mod pages;
mod pcluster;
mod prefix;
mod superblock;
mod xattr;

pub use config::{Algorithm, Configs};
pub use device::{DeviceIdentity, Slot};
pub use erofs::Erofs;
pub use facts::{EntryFacts, InodeFacts, StoredExtent};
pub(crate) use inspect::Inspected;
pub use inspect::StoredRun;
pub(crate) use node::{DataLayout, ErofsInode};
pub use open::{OpenOptions, checked_part, is_image, needed_devices};
pub use superblock::Superblock;
