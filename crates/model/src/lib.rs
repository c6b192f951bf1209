//! The nouns of SinterFS: what a tree, an image and a pipeline are made of, and the traits that
//! carry everything between the crates.
//!
//! **Invariant:** no I/O and no threads; of the workspace, only `sinterfs_workers` is imported, for the
//! permits that encoders get. Formats, pipeline and consumers (extract, mount, ...) meet only in these
//! types.

mod base;
mod error;
mod findings;
mod image;
mod limits;
mod machine;
mod media;
mod meta;
mod observer;
mod source;
mod tree;
mod writer;
mod xattrs;

pub use base::Base;
pub use error::{Error, Kind, Place, Result};
pub use findings::Findings;
pub use image::{
    Capability, Cursor, Dirent, Extent, ExtentSource, FsInfo, Image, ImageInfo, Ino, Inode, Xattrs,
};
pub use limits::Limits;
pub use machine::Machine;
pub use media::{ByteOrder, Padding, RawImage, Waveform};
pub use meta::{FileType, Meta, Rdev, Time, Times};
pub use observer::{Observer, Quiet, Stage, Tally};
pub use source::{FileContent, Source};
pub use tree::{Content, Link, NameRef, Node, NodeId, Tree, TreeBuilder, TreeStats};
pub use writer::{
    Block, BlockId, Category, ContentMap, Ends, Geometry, ImageWriter, Loss, MapExtent, Piece,
    Repeat, Segment, SegmentEncoder, Standing, Summary, Tails,
};
pub use xattrs::{XattrPairs, XattrSet, XattrSets};
