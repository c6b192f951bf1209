//! Reads FAT file systems: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Fat`.
//!
//! **Invariant:** all directories and the clusters of all files are known when an image is opened.

mod boot;
mod clusters;
mod entries;
mod image;
mod nodes;
mod open;

pub use boot::is_image;
pub use nodes::FatLosses;
pub(crate) use nodes::FatNode;
pub use open::Fat;
pub use sinterfs_format::ReadOptions;
