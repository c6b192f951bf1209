//! An entry of the cache, and which of them are evicted when it is full.
//!
//! In: entries. Out: their weight in bytes, and whether they may be evicted. **Invariant:** a block
//! that is in use is not evicted: the next reader would decode it again, while this one continues.
//! Evicted blocks are freed after the lock of the cache is released.

use std::sync::Arc;

use quick_cache::{Lifecycle, Weighter};
use sinterfs_model::Error;

use super::block::Block;

/// An opened block with its memory at the last update, or a failure, which is in the cache only
/// until its waiters have been woken.
#[derive(Clone)]
pub(super) enum CacheEntry {
    Block { block: Arc<Block>, memory: u64 },
    Failed(Arc<Error>),
}

/// Weighs blocks by their memory.
#[derive(Clone)]
pub(super) struct ByMemory;

impl Weighter<u128, CacheEntry> for ByMemory {
    fn weight(&self, _key: &u128, outcome: &CacheEntry) -> u64 {
        match outcome {
            // an entry of weight 0 would never be evicted
            CacheEntry::Block { memory, .. } => (*memory).max(1),
            CacheEntry::Failed(_) => 0,
        }
    }
}

/// Keeps blocks that are in use.
#[derive(Clone)]
pub(super) struct KeepInUse;

impl Lifecycle<u128, CacheEntry> for KeepInUse {
    type RequestState = Vec<CacheEntry>;

    fn is_pinned(&self, _key: &u128, entry: &CacheEntry) -> bool {
        matches!(entry, CacheEntry::Block { block, .. } if block.is_in_use())
    }

    fn on_evict(&self, evicted: &mut Self::RequestState, _key: u128, entry: CacheEntry) {
        evicted.push(entry);
    }
}
