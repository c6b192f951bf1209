//! The types of trees, images and the pipeline, and the traits that connect the crates.
//!
//! **Invariant:** no I/O and no threads; of the workspace, only `sinterfs_workers` is imported, for
//! the permits that encoders get. Formats, pipeline and consumers (extract, mount, ...) meet only
//! in these types.

#![warn(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap
    )
)]

mod backing;
mod base;
mod categorizers;
mod category;
mod content_map;
mod delegate;
mod error;
mod findings;
mod geometry;
mod image;
mod limits;
mod listing_errors;
mod machine;
mod media;
mod meta;
mod observer;
mod order;
pub mod posix_acl;
mod read_cost;
mod segment;
mod setting;
mod source;
mod stored_block;
mod text;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "ids and ranges are made here, and no more than u32::MAX of them"
)]
mod tree;
mod writer;
mod xattrs;

pub use backing::Backing;
pub use base::Base;
pub use categorizers::Categorizers;
pub use category::Category;
pub use content_map::{ContentMap, MapExtent};
pub use error::{Error, Kind, Place, Result};
pub use findings::{Findings, InodeReport};
pub use geometry::{FileLayout, Geometry, TailPlacement, TailSharing};
pub use image::{
    Capability, Cursor, Dirent, Extent, ExtentSource, FsInfo, Image, ImageInfo, Ino, Inode, Xattrs,
};
pub use limits::{Limits, MAX_ZEROS};
pub use listing_errors::ListingErrors;
pub use machine::Machine;
pub use media::{ByteOrder, Padding, RawImage, Waveform};
pub use meta::{FileType, Meta, Rdev, Time, Times};
pub use observer::{Observer, Quiet, Stage, Tally};
pub use order::Order;
pub use read_cost::ReadCost;
pub use segment::{
    Block, BlockId, Preceded, Repeat, Segment, SegmentEncoder, StoredPart, StoredUnit, UnitInfo,
};
pub use setting::Setting;
pub use source::{FileContent, LinkBelow, Source, StoredRange};
pub use stored_block::StoredBlock;
pub use text::{escaped, one_line, shown_name};
pub use tree::{Content, Link, NameRef, Node, NodeId, Tree, TreeBuilder, TreeStats};
pub use writer::{ImageWriter, Loss, LossKind, Summary};
pub use xattrs::{XattrPairs, XattrSet, XattrSets};
