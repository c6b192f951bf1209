//! Leaves in memory: what was fetched last, up to a number of bytes.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::plan::LEAF;

/// The bytes of a leaf; the last one of an object may be short.
pub(crate) type Leaf = Arc<[u8]>;

#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<u64, Leaf> for Bytes {
    fn weight(&self, _: &u64, leaf: &Leaf) -> u64 {
        leaf.len() as u64
    }
}

/// A bounded number of leaves.
#[derive(Debug)]
pub(crate) struct Leaves(Cache<u64, Leaf, Bytes>);

impl Leaves {
    pub(crate) fn new(bytes: u64) -> Self {
        let count = usize::try_from(bytes / LEAF).unwrap_or(usize::MAX);
        Self(Cache::with_weighter(count, bytes, Bytes))
    }

    pub(crate) fn get(&self, leaf: u64) -> Option<Leaf> {
        self.0.get(&leaf)
    }

    pub(crate) fn has(&self, leaf: u64) -> bool {
        self.0.peek(&leaf).is_some()
    }

    pub(crate) fn forget(&self, leaf: u64) {
        self.0.remove(&leaf);
    }

    pub(crate) fn put(&self, leaf: u64, bytes: Leaf) {
        self.0.insert(leaf, bytes);
    }
}
