//! What programs do with opened images: lists, extraction, archives, comparison, disk usage.
//!
//! These functions take an image by inode numbers ([`crate::Image::raw`]).

mod archive;
mod diff;
mod filtered_image;

pub use archive::{ArchiveRequest, archive};
pub use diff::diff;
pub use filtered_image::FilteredImage;

pub use sinterfs_ops::{
    ArchiveFormat, ArchiveOptions, ArchiveOrder, ArchiveReport, Cell, Change, DiffOptions,
    DiffReport, Difference, ExtractOptions, ExtractReport, Field, Follow, ListOptions, Node,
    Overwrite, Part, Row, Step, Sum, Usage, VerifyReport, What, cat, extract, list, resolve, row,
    verify,
};
