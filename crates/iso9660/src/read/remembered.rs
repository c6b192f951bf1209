//! Facts about compressed files that are expensive to find again.
//!
//! In: positions of blocks, indexes of files. Out: what is known of them.
//!
//! **Invariant:** answers do not depend on the order of the questions, but for what is cached.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::layout::ZisofsAlgorithm;

/// The most blocks whose shapes are kept; others are not cached.
const SHAPES: usize = 1 << 20;

/// The interpretation of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockShape {
    pub(super) algorithm: ZisofsAlgorithm,
    pub(super) stored: u64,
    pub(super) decoded: u64,
}

/// The interpretation of the blocks in the cache, by position: the pointers of two files may lead
/// to one position and differ in everything else. 40 bytes per block.
#[derive(Debug, Default)]
pub(super) struct BlockShapes(Mutex<HashMap<u64, BlockShape>>);

impl BlockShapes {
    /// Returns whether the cache has a block, if it does, in this shape.
    pub(super) fn is_same(&self, at: u64, shape: BlockShape) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&at) {
            Some(known) => *known == shape,
            None if known.len() >= SHAPES => false,
            None => known.insert(at, shape).is_none(),
        }
    }
}

/// The number of bytes of compressed files outside of holes, once counted, by index.
#[derive(Debug, Default)]
pub(super) struct AllocatedBytes(Mutex<HashMap<u32, u64>>);

impl AllocatedBytes {
    /// Returns what was counted.
    pub(super) fn get(&self, index: u32) -> Option<u64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&index).copied()
    }

    /// Keeps what was counted.
    pub(super) fn set(&self, index: u32, bytes: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(index, bytes);
    }
}
