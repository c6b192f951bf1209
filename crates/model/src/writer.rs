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
    /// What was lost, in words that follow a number: `hard links of symlinks ...`.
    pub what: &'static str,
    /// The number of losses.
    pub count: u64,
}

impl Loss {
    /// Makes a list of those that happened, which are all that have a count above 0.
    pub fn counted(losses: impl IntoIterator<Item = (&'static str, u64)>) -> Vec<Self> {
        let some = losses.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(what, count)| Self { what, count }).collect()
    }

    /// Returns whether all that is lost is the precision of times, which is so with nearly every
    /// tree that is in use.
    pub fn is_precision(&self) -> bool {
        self.what.starts_with("times finer than ")
    }
}

/// The sizes and properties of a finished image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes of the whole image.
    pub image_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of blocks before encoding.
    pub raw_bytes: u64,
    /// Bytes of blocks as stored.
    pub block_bytes: u64,
    /// Bytes of metadata as stored.
    pub metadata_bytes: u64,
    /// The root digest, if the image contains digests of its bytes.
    pub root_digest: Option<[u8; 32]>,
    /// What the image does not store of the tree; empty if it stores everything.
    pub losses: Vec<Loss>,
}

/// Lays out one image. Called strictly in this order: `geometry`, `base`, `encoder`, `put` for
/// every block in sequence, `put_base_blocks` if there is a base, `finish` once.
pub trait ImageWriter: Send {
    /// Returns how content may be cut.
    fn geometry(&self) -> Geometry;

    /// Returns the encoder, which the worker threads share.
    fn encoder(&self) -> Arc<dyn SegmentEncoder>;

    /// Appends a block; blocks come in sequence, and their `BlockId` is that sequence. The writer
    /// records what is needed to find the block again (position, stored size).
    fn put(&mut self, block: Block) -> Result<()>;

    /// Returns the base image, whose stored blocks this one may reuse, if there is one.
    fn base(&self) -> Option<Arc<dyn Base>> {
        None
    }

    /// Appends stored blocks of the base, given their numbers there. Their `BlockId`s continue
    /// after those of the blocks that were put.
    ///
    /// # Errors
    /// `Corrupt`, with the place in the image, if a block is damaged; `Invalid` if there is no
    /// base.
    fn put_base_blocks(&mut self, _blocks: &[u32], _: &dyn Observer) -> Result<()> {
        Err(Error::invalid("the image has no base"))
    }

    /// Writes the metadata and completes the image. The caller makes it durable.
    fn finish(self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary>;
}
