//! The cache of decoded blocks that every reader of an image shares.
//!
//! In: a block's key and the way to decode it. Out: the decoded bytes, from memory if they are
//! there.
//!
//! **Invariant:** many readers of one missing block share one decode. A failed decode is reported
//! to all who waited for it and is not kept: the next read tries again. Memory is bounded by the
//! capacity, plus the blocks that callers hold or are decoding at the moment.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Error, Result};
use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{OptionsBuilder, Weighter};

/// Keeps decoded blocks up to a number of bytes; many threads may ask at once.
pub struct BlockCache {
    cache: Cache<u64, Outcome, ByLength>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What a cache has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Reads that were served without a decode of their own (from memory, or by waiting for
    /// another reader's decode).
    pub hits: u64,
    /// Reads that had to decode.
    pub misses: u64,
    /// Bytes of decoded blocks in memory now.
    pub bytes: u64,
}

/// What decoding gave; a failure is in the cache only until its waiters have been woken.
#[derive(Clone)]
enum Outcome {
    Block(Arc<Vec<u8>>),
    Failed(Arc<Error>),
}

#[derive(Clone)]
struct ByLength;

impl Weighter<u64, Outcome> for ByLength {
    fn weight(&self, _key: &u64, outcome: &Outcome) -> u64 {
        match outcome {
            // what weighs nothing would never be evicted
            Outcome::Block(block) => (block.len() as u64).max(1),
            Outcome::Failed(_) => 0,
        }
    }
}

impl BlockCache {
    /// Makes an empty cache that keeps up to `capacity` bytes of blocks that are mostly
    /// `block_size` bytes long. A block bigger than the capacity is served, but not kept.
    pub fn new(capacity: u64, block_size: u64) -> Self {
        let blocks = capacity.div_ceil(block_size.max(1)).clamp(1, 1 << 20);
        // The capacity is divided among the shards, and a block bigger than a shard's part would
        // never be kept: few big blocks get one shard (its lock is only shared for a hit).
        let shards = blocks.div_ceil(64).min(16);
        let options = OptionsBuilder::new()
            .shards(shards as usize)
            .estimated_items_capacity(blocks as usize)
            .weight_capacity(capacity)
            .build()
            .expect("all required options are set");
        Self {
            cache: Cache::with_options(options, ByLength, Default::default(), Default::default()),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Gives the block of a key, decoding it if it is not in memory. Who asks for a block that
    /// another thread is decoding waits for that thread's result or error.
    ///
    /// `decode` must not ask this cache for the same key.
    pub fn get_or_decode(
        &self,
        key: u64,
        decode: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Arc<Vec<u8>>> {
        let guard = match self.cache.get_value_or_guard(&key, None) {
            GuardResult::Guard(guard) => guard,
            GuardResult::Value(outcome) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return match outcome {
                    Outcome::Block(block) => Ok(block),
                    Outcome::Failed(error) => Err(copy(&error)),
                };
            }
            GuardResult::Timeout => unreachable!("no timeout was given"),
        };
        self.misses.fetch_add(1, Ordering::Relaxed);
        // If `decode` panics the guard is dropped and a waiter takes its place.
        match decode() {
            Ok(block) => {
                let block = Arc::new(block);
                // refused if `clear` or `remove` came in between: served all the same
                let _ = guard.insert(Outcome::Block(Arc::clone(&block)));
                Ok(block)
            }
            Err(error) => {
                let shared = copy(&error);
                let _ = guard.insert(Outcome::Failed(Arc::new(shared)));
                self.cache
                    .remove_if(&key, |outcome| matches!(outcome, Outcome::Failed(_)));
                Err(error)
            }
        }
    }

    /// Gives the block of a key if it is in memory.
    pub fn get(&self, key: u64) -> Option<Arc<Vec<u8>>> {
        match self.cache.get(&key)? {
            Outcome::Block(block) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Some(block)
            }
            Outcome::Failed(_) => None,
        }
    }

    /// Tells what the cache has done so far.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: self.cache.weight(),
        }
    }

    /// Tells the capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.cache.capacity()
    }

    /// Changes the capacity in bytes; blocks that no longer fit are forgotten.
    pub fn set_capacity(&self, capacity: u64) {
        self.cache.set_capacity(capacity);
    }

    /// Forgets all blocks.
    pub fn clear(&self) {
        self.cache.clear();
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("capacity", &self.capacity())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Copies an error for another reader: everything a caller can ask of it, and the cause as text
/// (or as the operating system's number).
fn copy(error: &Error) -> Error {
    let mut copied = Error::new(error.kind(), error.what().to_owned());
    if let Some(place) = error.place() {
        copied = match place.offset {
            Some(offset) => copied.at(place.structure.clone(), offset),
            None => copied.within(place.structure.clone()),
        };
    }
    if let Some(path) = error.concerned_path() {
        copied = copied.path(path);
    }
    if let Some(number) = error.io_source().and_then(std::io::Error::raw_os_error) {
        copied = copied.because(std::io::Error::from_raw_os_error(number));
    } else if let Some(cause) = std::error::Error::source(error) {
        copied = copied.because(cause.to_string());
    }
    copied
}

#[cfg(test)]
mod tests;
