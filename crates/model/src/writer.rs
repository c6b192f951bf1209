//! The exit of the writing side: the writer that lays out blocks and metadata of one image.
//!
//! **Invariant:** content is cut first and encoded later. The segment stage numbers blocks and
//! records where every file's bytes are before any of them is encoded, so a `ContentMap` describes
//! decoded bytes only; where those are stored in the image is known to the writer alone.
//! `docs/adr/0001` reports how SquashFS and EROFS were tried on these traits.

use std::sync::Arc;

use crate::{Base, Block, ContentMap, Error, Geometry, Observer, Result, SegmentEncoder, Tree};

/// Something of the tree that the format could not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What was lost, for people to read after a number: `hard links of symlinks ...`.
    pub what: &'static str,
    /// How often.
    pub count: u64,
}

/// What a finished image looks like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes of the whole image.
    pub image_bytes: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes of blocks before encoding.
    pub raw_bytes: u64,
    /// Bytes of blocks as stored.
    pub block_bytes: u64,
    /// Bytes of metadata as stored.
    pub metadata_bytes: u64,
    /// The root of the digests that the image has of its bytes.
    pub root_digest: Option<[u8; 32]>,
    /// What the image does not keep of the tree; empty if it keeps everything.
    pub losses: Vec<Loss>,
}

/// Lays out one image. Called strictly in this order: `geometry`, `base`, `encoder`, `put` for every
/// block in sequence, `take_over` where there is a base, `finish` once.
pub trait ImageWriter: Send {
    /// Returns how content may be cut.
    fn geometry(&self) -> Geometry;

    /// Returns the encoder that the worker threads share.
    fn encoder(&self) -> Arc<dyn SegmentEncoder>;

    /// Appends a block; blocks come in sequence, and their `BlockId` is that sequence. What is
    /// needed to find the block again (position, stored size) is for the writer to remember.
    fn put(&mut self, block: Block) -> Result<()>;

    /// Returns the image whose blocks this one may take over, if there is one.
    fn base(&self) -> Option<Arc<dyn Base>> {
        None
    }

    /// Appends blocks of the base, by their numbers there, as they are stored. Their `BlockId`s go on
    /// after those of the blocks that were put.
    ///
    /// # Errors
    /// `Corrupt`, with its place, for one that is damaged; `Invalid` where there is no base.
    fn take_over(&mut self, _blocks: &[u32], _: &dyn Observer) -> Result<()> {
        Err(Error::invalid("there is no image to take blocks of"))
    }

    /// Writes the metadata and ends the image. The caller makes it durable.
    fn finish(self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary>;
}
