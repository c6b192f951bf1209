//! Operations on opened images: lists, extraction, archives, comparison, disk usage.
//!
//! These functions take an image by inode numbers ([`crate::Image::raw`]).

#[cfg(feature = "write")]
mod archive;
#[cfg(feature = "write")]
mod diff;
#[cfg(feature = "write")]
mod filtered_image;

#[cfg(feature = "write")]
pub use archive::{ArchiveRequest, archive};
#[cfg(feature = "write")]
pub use diff::diff;
#[cfg(feature = "write")]
pub use filtered_image::FilteredImage;

pub use sinterfs_ops::{
    ArchiveFormat, ArchiveOptions, ArchiveOrder, ArchiveReport, Cell, Change, DiffOptions,
    DiffReport, Difference, ExtractOptions, ExtractReport, Field, Follow, ListOptions, Overwrite,
    Row, Sum, Usage, UsageKind, UsageNode, VerifyReport, WalkStep, What, cat, extract, list,
    resolve, row, verify,
};
