//! The image that a new one is built on: its blocks decoded, and what its files hold.
//!
//! Enters a `Base`; leaves its decoded blocks for the segment stage to compare with, and the
//! contents of its files by fingerprint for the first read to find.
//! **Invariant:** every block is decoded once, by many threads, into an unnamed scratch file as large
//! as all of them. What is found by fingerprint is a hint: the segment stage compares every byte.
//! Memory: two decoded blocks for each thread that decodes, 16 bytes a block, some 50 for each content.

mod blocks;
mod contents;

use std::sync::Arc;

use sinterfs_model::{Base, Observer, Result, Tree};

use crate::scratch::Scratch;

pub(crate) use blocks::{BaseBlocks, ScratchSpan};
pub(crate) use contents::BaseContents;

/// What a build on a base knows before it reads any file.
pub(crate) struct BaseIndex {
    pub blocks: Arc<BaseBlocks>,
    pub contents: BaseContents,
}

impl BaseIndex {
    /// Decodes a base and finds out which of its contents a tree may have.
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
