//! Reads ISO 9660 images: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Iso9660`.
//!
//! **Invariant:** all directories are read and checked when an image is opened; targets of
//! symlinks, attributes and the block pointers of compressed files whenever they are used.

mod attributes;
mod boot;
mod content;
mod image;
mod magic;
mod names;
mod nodes;
mod open;
mod records;
mod remembered;
mod rock_ridge;
mod sections;
mod sessions;
mod volumes;
mod walk;
mod zisofs;

pub use boot::{BootCatalog, BootEntry};
pub use open::{Iso9660, NameSource};
pub use sinterfs_format::ReadOptions;
pub use volumes::{Volumes, is_image};
pub use zisofs::ZisofsBlock;
