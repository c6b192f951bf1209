//! The cache of decoded blocks that every reader of an image shares.
//!
//! In: a block's key (32 bits of its image, then 96 bits that the image chooses), a range of its
//! bytes, and a function that opens it. Out: these bytes, from memory if they are cached.
//!
//! **Invariant:** concurrent readers of a missing block share one decode, and each waits only for
//! the bytes it needs. A failure is reported to all waiting readers and is not cached: the next
//! read tries again, and bytes before damage stay readable. Memory is bounded by the capacity, plus
//! the blocks that are being decoded.
//!
//! A block in progress can take more memory than a finished one, since some decoders have a window
//! of their own. Such a block is finished in the background: otherwise blocks in progress would
//! evict each other, and decoding would start again each time. With decoding ahead enabled, any
//! block that fits is finished, and the next one started, while readers wait long for decoders.

mod ahead;
mod block;
mod shared_error;
mod spill;

use std::fmt;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{OptionsBuilder, Weighter};
use sinterfs_model::{Error, Result};

use ahead::{AheadPolicy, DecodePermits};
use block::{Access, Block};
use shared_error::copy;
use spill::Spill;

pub use block::Opened;

/// Keeps decoded blocks up to a number of bytes; threads share it.
pub struct BlockCache {
    blocks: Arc<Blocks>,
    hits: AtomicU64,
    misses: AtomicU64,
    ahead: AheadPolicy,
    /// The images whose blocks are opened before a reader requests them.
    next_blocks: Mutex<Vec<Weak<dyn NextBlocks>>>,
    spill: OnceLock<Spill>,
}

/// The blocks of an image in their order, for decoding ahead.
pub trait NextBlocks: Send + Sync {
    /// Returns the key of the next block; the first block follows the last one. `None` for a key of
    /// no block of this image.
    fn next(&self, key: u128) -> Option<u128>;
    /// Opens a block.
    fn open(&self, key: u128) -> Result<Opened>;
    /// Returns the length of the longest decoded block in bytes.
    fn block_size(&self) -> u64;
}

/// The part of the cache that background threads share.
struct Blocks {
    cache: Cache<u128, CacheEntry, ByMemory>,
    /// Limits the threads that decode in the background at the same time.
    permits: DecodePermits,
    /// Background threads that decode or wait for a permit.
    threads: AtomicUsize,
    /// Whether a thread is starting a block that no reader has requested.
    is_starting: AtomicBool,
}

/// The most background threads; beyond, the reader of a block finishes it.
const MAX_THREADS: usize = 8;

/// Returns the prefix of the keys of an image's blocks, unique in this process. The low 96 bits are
/// zero.
pub fn image_key() -> u128 {
    static OPENED: AtomicU32 = AtomicU32::new(0);
    u128::from(OPENED.fetch_add(1, Ordering::Relaxed)) << 96
}

/// A block that its holder keeps even if the cache evicts it.
#[derive(Debug, Clone)]
pub struct HeldBlock(Arc<Block>);

impl HeldBlock {
    /// Fills the buffer with the block's bytes from `offset` on. Fails with `Corrupt` if the block
    /// is shorter.
    pub fn read(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.0.read(offset, buf).map(drop)
    }
}

/// Counts of a cache since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Reads served without decoding: from memory, from stored bytes, or by waiting for another
    /// reader's decode.
    pub hits: u64,
    /// Reads that had to open a block or decode more of it.
    pub misses: u64,
    /// Bytes of memory that blocks take.
    pub bytes: u64,
}

/// An opened block with its memory at the last update, or a failure, which is in the cache only
/// until its waiters have been woken.
#[derive(Clone)]
enum CacheEntry {
    Block { block: Arc<Block>, memory: u64 },
    Failed(Arc<Error>),
}

#[derive(Clone)]
struct ByMemory;

impl Weighter<u128, CacheEntry> for ByMemory {
    fn weight(&self, _key: &u128, outcome: &CacheEntry) -> u64 {
        match outcome {
            // an entry of weight 0 would never be evicted
            CacheEntry::Block { memory, .. } => (*memory).max(1),
            CacheEntry::Failed(_) => 0,
        }
    }
}

impl BlockCache {
    /// Makes an empty cache of `capacity` bytes, for blocks of about `block_size` bytes. A block
    /// larger than the capacity is served, but not cached.
    pub fn new(capacity: u64, block_size: u64) -> Self {
        let blocks = capacity.div_ceil(block_size.max(1)).clamp(1, 1 << 20);
        // The capacity is divided among the shards, and a block larger than a shard's part would
        // never be cached: few large blocks get one shard (a hit takes its lock shared).
        let shards = blocks.div_ceil(64).min(16);
        let options = OptionsBuilder::new()
            .shards(shards as usize)
            .estimated_items_capacity(blocks as usize)
            .weight_capacity(capacity)
            .build()
            .expect("all required options are set");
        let cache = Cache::with_options(options, ByMemory, Default::default(), Default::default());
        let blocks = Blocks {
            cache,
            permits: DecodePermits::leaving_one_processor(),
            threads: AtomicUsize::new(0),
            is_starting: AtomicBool::new(false),
        };
        Self {
            blocks: Arc::new(blocks),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            ahead: AheadPolicy::new(),
            next_blocks: Mutex::new(Vec::new()),
            spill: OnceLock::new(),
        }
    }

    /// Makes the cache decode each block once and to its end from now on, and keep it in a file,
    /// which grows to the size of all blocks. Only the first call has an effect.
    pub fn spill_to(&self, file: File) {
        let _ = self.spill.set(Spill::new(file));
    }

    /// Makes the cache decode blocks to their ends on other processors from now on, while readers
    /// wait long for decoders and as far as the capacity allows: the blocks that are read and, if
    /// an image is given, those that follow in it. Images that share the cache are given in turn.
    pub fn decode_ahead(&self, image: Option<Weak<dyn NextBlocks>>) {
        self.next_blocks.lock().extend(image);
        self.ahead.enable();
    }

    /// Fills the buffer with a block's bytes from `offset` on. Opens the block if it is not cached,
    /// and decodes it as far as needed. Fails with `Corrupt` if the block is shorter.
    ///
    /// `open` must not read the same key from this cache.
    pub fn read(
        &self,
        key: u128,
        offset: u64,
        buf: &mut [u8],
        open: impl FnOnce() -> Result<Opened>,
    ) -> Result<()> {
        let start = self.ahead.start();
        let (block, opened) = self.block(key, open)?;
        let read = block.read(offset, buf);
        let decoded = matches!(read, Ok(Access::Decoded));
        let count = if opened || decoded {
            &self.misses
        } else {
            &self.hits
        };
        count.fetch_add(1, Ordering::Relaxed);
        if decoded {
            self.blocks.update_weight(key, &block);
            if block.claim_finish(Block::is_heavy) {
                finish_in_background(&self.blocks, key, &block);
            }
            if self.ahead.is_due(start) {
                self.decode_next(key, &block);
            }
        }
        // a stored block keeps no failure, and its checksums stay valid
        if read.is_err() && !block.is_stored() {
            self.blocks.forget(key, &block);
        }
        read.map(drop)
    }

    /// Returns a block to a reader that needs it again and again: its bytes take no lookup in the
    /// cache then. Opens the block if it is not cached.
    ///
    /// `open` must not read the same key from this cache.
    pub fn hold(&self, key: u128, open: impl FnOnce() -> Result<Opened>) -> Result<HeldBlock> {
        let (block, opened) = self.block(key, open)?;
        let count = if opened { &self.misses } else { &self.hits };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(HeldBlock(block))
    }

    /// Finishes the block that was read and starts the next one that is not cached, if both fit.
    fn decode_next(&self, key: u128, block: &Arc<Block>) {
        let blocks = &self.blocks;
        if blocks.may_spawn() && block.claim_finish(|decoder| blocks.can_hold(decoder.len())) {
            finish_in_background(blocks, key, block);
        }
        let image = self.image_of(key);
        let Some(image) = image.filter(|image| blocks.can_hold(image.block_size())) else {
            return;
        };
        if blocks.may_spawn() && !blocks.is_starting.swap(true, Ordering::Relaxed) {
            let starting = Starting(Arc::clone(blocks));
            spawn(blocks, move || starting.0.start_next(&*image, key));
        }
    }

    /// Returns the image that has a block with this key, and forgets those that were closed.
    fn image_of(&self, key: u128) -> Option<Arc<dyn NextBlocks>> {
        let mut images = self.next_blocks.lock();
        images.retain(|image| image.strong_count() > 0);
        let mut open = images.iter().filter_map(Weak::upgrade);
        open.find(|image| image.next(key).is_some())
    }

    /// Fills the buffer with a whole block, as `read` does; but a block that is not cached is
    /// decoded into the buffer by `decode` and not cached: for readers that need each block once.
    pub fn read_whole(
        &self,
        key: u128,
        buf: &mut [u8],
        open: impl FnOnce() -> Result<Opened>,
        decode: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        if self.spill.get().is_some() || self.holds(key) {
            return self.read(key, 0, buf, open);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        decode(buf)
    }

    /// Returns whether a block is cached, which does not count as a use of it.
    pub fn holds(&self, key: u128) -> bool {
        self.blocks.cache.peek(&key).is_some()
    }

    /// Returns the block of a key, and whether it had to be opened. A thread that needs a block
    /// that another one is opening waits for that one's result or error.
    fn block(
        &self,
        key: u128,
        open: impl FnOnce() -> Result<Opened>,
    ) -> Result<(Arc<Block>, bool)> {
        let cache = &self.blocks.cache;
        let guard = match cache.get_value_or_guard(&key, None) {
            GuardResult::Guard(guard) => guard,
            GuardResult::Value(CacheEntry::Block { block, .. }) => return Ok((block, false)),
            GuardResult::Value(CacheEntry::Failed(error)) => return Err(copy(&error)),
            GuardResult::Timeout => unreachable!("no timeout was given"),
        };
        // if `open` panics, the guard is dropped and a waiter opens the block
        let opened = match self.spill.get() {
            Some(spill) => spill.open(key, open),
            None => open(),
        };
        match opened {
            Ok(content) => {
                let block = Arc::new(Block::new(content));
                // not inserted after a concurrent `clear` or `remove`, but served
                let _ = block.with_memory(|memory| {
                    let block = Arc::clone(&block);
                    guard.insert(CacheEntry::Block { block, memory })
                });
                Ok((block, true))
            }
            Err(error) => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                let shared = copy(&error);
                let _ = guard.insert(CacheEntry::Failed(Arc::new(shared)));
                cache.remove_if(&key, |outcome| matches!(outcome, CacheEntry::Failed(_)));
                Err(error)
            }
        }
    }

    /// Returns hits, misses and memory.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: self.blocks.cache.weight(),
        }
    }

    /// Returns the capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.blocks.cache.capacity()
    }

    /// Changes the capacity in bytes; blocks that no longer fit are evicted.
    pub fn set_capacity(&self, capacity: u64) {
        self.blocks.cache.set_capacity(capacity);
    }

    /// Evicts a block. Its readers are not disturbed.
    pub fn forget(&self, key: u128) {
        self.blocks.cache.remove(&key);
    }

    /// Evicts all blocks.
    pub fn clear(&self) {
        self.blocks.cache.clear();
    }
}

impl Blocks {
    /// Updates the memory of a block that the cache counts.
    fn update_weight(&self, key: u128, block: &Arc<Block>) {
        block.with_memory(|memory| {
            let block = Arc::clone(block);
            // not replaced if it was evicted meanwhile: its last reader drops it then
            let _ = self
                .cache
                .replace(key, CacheEntry::Block { block, memory }, true);
        });
    }

    /// Returns whether another background thread may be started.
    fn may_spawn(&self) -> bool {
        self.threads.load(Ordering::Relaxed) < MAX_THREADS
    }

    /// Returns whether a block of `len` bytes can be decoded to its end without evicting another.
    fn can_hold(&self, len: u64) -> bool {
        // a block whose decoder has a window takes the most memory right before it is finished
        let most = self.cache.weight().saturating_add(len.saturating_mul(2));
        most <= self.cache.capacity()
    }

    /// Decodes the first following block that is not cached.
    fn start_next(&self, image: &dyn NextBlocks, key: u128) {
        let mut next = image.next(key);
        while let Some(found) = next.filter(|found| *found != key) {
            if self.cache.peek(&found).is_none() {
                return self.decode(image, found);
            }
            next = image.next(found);
        }
    }

    fn decode(&self, image: &dyn NextBlocks, key: u128) {
        let now = Some(Duration::ZERO);
        let GuardResult::Guard(guard) = self.cache.get_value_or_guard(&key, now) else {
            // a reader opens it already
            return;
        };
        // a reader that needs the block gets the error
        let Ok(opened) = image.open(key) else {
            return;
        };
        let block = Arc::new(Block::new(opened));
        block.claim_finish(|_| true);
        let _ = block.with_memory(|memory| {
            let block = Arc::clone(&block);
            guard.insert(CacheEntry::Block { block, memory })
        });
        finish(self, key, &block);
    }

    fn forget(&self, key: u128, block: &Arc<Block>) {
        self.cache.remove_if(&key, |outcome| match outcome {
            CacheEntry::Block { block: kept, .. } => Arc::ptr_eq(kept, block),
            CacheEntry::Failed(_) => false,
        });
    }
}

/// Finishes a block on a background thread, unless it is evicted before; on this thread if there
/// are too many, so that a busy mount does not accumulate them.
fn finish_in_background(blocks: &Arc<Blocks>, key: u128, block: &Arc<Block>) {
    if !blocks.may_spawn() {
        return finish(blocks, key, block);
    }
    let (shared, block) = (Arc::clone(blocks), Arc::downgrade(block));
    spawn(blocks, move || {
        if let Some(block) = block.upgrade() {
            finish(&shared, key, &block);
        }
    });
}

/// Runs work on a background thread that waits for a permit. If no thread can be started, the work
/// is not done: readers decode what they need.
fn spawn(blocks: &Arc<Blocks>, work: impl FnOnce() + Send + 'static) {
    let counted = CountedThread::new(blocks);
    // if the thread cannot be started, dropping the closure takes back the count
    let _ = thread::Builder::new()
        .name("decode".into())
        .spawn(move || counted.0.permits.run(work));
}

/// The start of a block that no reader has requested; dropping it allows the next one.
struct Starting(Arc<Blocks>);

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.is_starting.store(false, Ordering::Relaxed);
    }
}

/// A background thread, counted until it ends, even by a panic.
struct CountedThread(Arc<Blocks>);

impl CountedThread {
    fn new(blocks: &Arc<Blocks>) -> Self {
        blocks.threads.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(blocks))
    }
}

impl Drop for CountedThread {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Decodes a block to its end while anything else refers to it.
fn finish(blocks: &Blocks, key: u128, block: &Arc<Block>) {
    // a reader of the bytes behind a failure finds it again
    while Arc::strong_count(block) > 1 && matches!(block.advance(), Ok(true)) {}
    blocks.update_weight(key, block);
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("capacity", &self.capacity())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
