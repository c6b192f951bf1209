//! Writes ISO 9660 images with Rock Ridge and Joliet, and files compressed by zisofs.
//!
//! In: encoded blocks in sequence, then the tree and the map of its content. Out: an image: system
//! area, descriptors, boot images, path tables, directories, continuation areas, content.
//! **Invariant:** the image depends only on these and on the options. Format:
//! `docs/formats/iso9660.md`.

mod appended;
mod attributes;
mod boot;
mod compression;
mod contents;
mod continuations;
mod descriptors;
mod directories;
mod level;
mod losses;
mod names;
mod options;
mod rock_ridge;
mod trees;
mod unit_encoder;
mod writer;

pub use appended::AppendedPartition;
pub use boot::{BootContent, BootImage};
pub use compression::ZisofsCompression;
pub use level::InterchangeLevel;
pub use options::{IsoOptions, WriteOptions};
pub use writer::IsoWriter;
