//! Operations on opened images: lists, extraction, archives, comparison, disk usage.
//!
//! These functions take an image by inode numbers ([`crate::Image::raw`]).

#[cfg(feature = "write")]
mod archive;
#[cfg(feature = "write")]
mod container;
#[cfg(feature = "write")]
mod diff;
#[cfg(feature = "write")]
mod filtered_image;

#[cfg(feature = "write")]
pub use crate::image::container_config::{CONTAINER_ATTRIBUTE, container_rows};
#[cfg(feature = "write")]
pub use archive::{ArchiveRequest, archive};
#[cfg(feature = "write")]
pub use container::{ContainerReport, ContainerRequest, container};
#[cfg(feature = "write")]
pub use diff::diff;
#[cfg(feature = "write")]
pub use filtered_image::FilteredImage;

pub use sinterfs_ops::{
    ArchiveFormat, ArchiveOptions, ArchiveOrder, ArchiveReport, Cell, Change, ContentReader,
    ContentsOptions, ContentsReport, DiffOptions, DiffReport, Difference, DuOptions, DuRow,
    ExtractOptions, ExtractReport, FailedInode, Field, FindOptions, Follow, ListOptions, ModeBits,
    OpenedContent, Overwrite, PartOptions, PartialImage, ReadFailures, Row, Sum, TreeEntry,
    TreeOptions, Unread, Usage, UsageKind, UsageNode, VerifyReport, WalkStep, What, cat, contents,
    expand, extract, find, list, resolve, row, trail, tree, verify,
};
