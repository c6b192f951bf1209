//! The nouns of SinterFS: what a tree, an image and a pipeline are made of, and the traits that
//! carry everything between the crates.
//!
//! **Invariant:** no I/O and no threads; of the workspace, only `sinterfs_workers` is imported, for the
//! permits that encoders get. Formats, pipeline and consumers (extract, mount, ...) meet only in these
//! types.

mod base;
mod category;
mod content_map;
mod error;
mod findings;
mod geometry;
mod image;
mod limits;
mod machine;
mod media;
mod meta;
mod observer;
mod segment;
mod source;
mod tree;
mod writer;
mod xattrs;

pub use base::Base;
pub use category::Category;
pub use content_map::{ContentMap, MapExtent};
pub use error::{Error, Kind, Place, Result};
pub use findings::Findings;
pub use geometry::{Geometry, TailPlacement, TailSharing};
pub use image::{
    Capability, Cursor, Dirent, Extent, ExtentSource, FsInfo, Image, ImageInfo, Ino, Inode, Xattrs,
};
pub use limits::Limits;
pub use machine::Machine;
pub use media::{ByteOrder, Padding, RawImage, Waveform};
pub use meta::{FileType, Meta, Rdev, Time, Times};
pub use observer::{Observer, Quiet, Stage, Tally};
pub use segment::{
    Block, BlockId, Preceded, Repeat, Segment, SegmentEncoder, StoredPart, StoredUnit, UnitInfo,
};
pub use source::{FileContent, Source};
pub use tree::{Content, Link, NameRef, Node, NodeId, Tree, TreeBuilder, TreeStats};
pub use writer::{ImageWriter, Loss, Summary};
pub use xattrs::{XattrPairs, XattrSet, XattrSets};
