//! Writes WIM images with one image.
//!
//! In: blocks of files, then the tree. Out: bytes, to a sink.
//!
//! **Invariant:** the bytes depend only on the tree, the content and the options.

mod compression;
mod encoder;
mod entries;
mod kept;
mod link_targets;
mod losses;
mod metadata;
mod options;
mod resources;
mod solid;
mod text;
mod writer;
mod xml;

pub use compression::WimCompression;
pub use kept::OpenScratch;
pub use options::{WimOptions, WriteOptions};
pub use writer::WimWriter;
