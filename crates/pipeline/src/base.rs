//! The base image of a build: its blocks decoded, and the contents of its files.
//!
//! Enters a `Base`; leaves its decoded blocks for the segment stage to compare with, and the
//! contents of its files by fingerprint for the first read.
//! **Invariant:** every block is decoded once, by many threads, into an unnamed scratch file as
//! large as all of them. A fingerprint is a hint: the segment stage compares every byte. Memory:
//! two decoded blocks for each decoding thread, 16 bytes a block, about 50 for each content.

mod blocks;
mod contents;

use std::sync::Arc;

use sinterfs_model::{Base, Observer, Result, Tree};
use sinterfs_platform::Scratch;

pub(crate) use blocks::{BaseBlocks, ScratchSpan};
pub(crate) use contents::BaseContents;

/// The base image as the stages use it.
pub(crate) struct BaseIndex {
    pub blocks: Arc<BaseBlocks>,
    pub contents: BaseContents,
}

impl BaseIndex {
    /// Decodes a base and fingerprints the contents that a tree may have, too.
    pub fn new(
        base: Arc<dyn Base>,
        tree: &Tree,
        threads: usize,
        memory: Option<u64>,
        scratch: &Scratch,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let blocks = BaseBlocks::new(base, threads, memory, scratch, observer)?;
        let contents = BaseContents::new(&blocks, tree, threads, observer)?;
        Ok(Self {
            blocks: Arc::new(blocks),
            contents,
        })
    }
}
