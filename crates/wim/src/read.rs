//! Reads WIM images: opens them and implements `sinterfs_model::Image`.
//!
//! In: sources of bytes. Out: `Wim`.
//!
//! **Invariant:** tables and metadata are checked when an image is opened, chunk tables whenever
//! they are used.

mod blobs;
mod chunks;
mod content;
mod damaged;
mod decoding;
mod dentries;
mod digests;
mod image;
mod items;
mod link_target;
mod names;
mod nodes;
mod open;
mod parts;
mod stored;
mod unshown;
mod xml;

pub use open::{Wim, WimImage, WimLosses};
pub use parts::{header, is_image};
pub use sinterfs_format::ReadOptions;
pub use stored::StoredChunk;

pub(crate) use chunks::ResourceKind;
pub(crate) use dentries::to_bytes;
pub(crate) use digests::hex;
pub(crate) use parts::Part;
