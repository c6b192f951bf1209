//! The cached blocks, and the threads that decode them in the background.
//!
//! In: blocks that readers wait for, or will need. Out: the same, further decoded. **Invariant:**
//! the number of threads, and of threads that decode at the same time, is limited; they decode the
//! same bytes as a reader would, and a failure is reported to the reader that meets it.

use std::sync::Arc;
use std::time::Duration;

use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{DefaultHashBuilder, OptionsBuilder};
use sinterfs_model::Result;

use super::ahead::{DecodePermits, NextBlocks};
use super::block::{Block, InUse};
use super::entry::{ByMemory, CacheEntry, KeepInUse};
use super::file_readers::{FileReaders, Need};
use crate::locks::{AtomicBool, AtomicUsize, Ordering, thread};

/// The part of the cache that background threads share.
pub(super) struct Blocks {
    pub(super) cache: Cache<u128, CacheEntry, ByMemory, DefaultHashBuilder, KeepInUse>,
    /// Limits the threads that decode in the background at the same time.
    pub(super) permits: DecodePermits,
    /// Background threads that decode or wait for a permit.
    threads: AtomicUsize,
    /// Whether a thread is starting a block that no reader has requested.
    pub(super) is_starting: AtomicBool,
    /// Files that are read in turn.
    pub(super) file_readers: FileReaders,
}

/// The most background threads; beyond, the reader of a block finishes it.
const MAX_THREADS: usize = 8;

impl Blocks {
    /// Makes an empty cache of `capacity` bytes, for blocks of about `block_size` bytes.
    pub(super) fn new(capacity: u64, block_size: u64) -> Self {
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
        let cache = Cache::with_options(options, ByMemory, Default::default(), KeepInUse);
        Self {
            cache,
            permits: DecodePermits::leaving_one_processor(),
            threads: AtomicUsize::new(0),
            is_starting: AtomicBool::new(false),
            file_readers: FileReaders::default(),
        }
    }

    /// Updates the memory of a block that the cache counts.
    pub(super) fn update_weight(&self, key: u128, block: &Arc<Block>) {
        block.with_memory(|memory| {
            let block = Arc::clone(block);
            // not replaced if it was evicted meanwhile: its last reader drops it then
            let _ = self
                .cache
                .replace(key, CacheEntry::Block { block, memory }, true);
        });
    }

    /// Returns whether another background thread may be started for what no reader waits for: half
    /// of the threads are left to the blocks that readers have begun.
    pub(super) fn may_prepare(&self) -> bool {
        self.threads.load(Ordering::Relaxed) < MAX_THREADS / 2
    }

    /// Returns whether another background thread may be started.
    pub(super) fn may_spawn(&self) -> bool {
        self.threads.load(Ordering::Relaxed) < MAX_THREADS
    }

    /// Returns whether a block of `len` bytes can be decoded to its end without evicting another.
    pub(super) fn can_hold(&self, len: u64) -> bool {
        // a block whose decoder has a window takes the most memory right before it is finished
        let most = self.cache.weight().saturating_add(len.saturating_mul(2));
        most <= self.cache.capacity()
    }

    /// Decodes the first following block that is not cached, if it need not be fetched.
    pub(super) fn start_next(&self, image: &dyn NextBlocks, key: u128) {
        let mut next = image.next(key);
        while let Some(found) = next.filter(|found| *found != key) {
            if self.cache.peek(&found).is_none() {
                if image.is_here(found) {
                    self.decode(image, found);
                }
                return;
            }
            next = image.next(found);
        }
    }

    fn decode(&self, image: &dyn NextBlocks, key: u128) {
        if let Ok(Some(block)) = self.open_ahead(image, key)
            && block.claim_finish(|_| true)
        {
            finish(self, key, &block.release());
        }
    }

    /// Returns a block, which is opened if it is not cached; `None` if a reader opens it already.
    /// An error is not kept: a reader that needs the block gets it.
    fn open_ahead(&self, image: &dyn NextBlocks, key: u128) -> Result<Option<InUse>> {
        let guard = match self.cache.get_value_or_guard(&key, Some(Duration::ZERO)) {
            GuardResult::Value(CacheEntry::Block { block, .. }) => {
                return Ok(Some(InUse::new(block)));
            }
            GuardResult::Value(CacheEntry::Failed(_)) | GuardResult::Timeout => return Ok(None),
            GuardResult::Guard(guard) => guard,
        };
        // before it is in the cache, which may be full of what is used more often
        let in_use = InUse::new(Arc::new(Block::new(image.open(key)?)));
        let _ = in_use.with_memory(|memory| {
            let block = Arc::clone(&in_use);
            guard.insert(CacheEntry::Block { block, memory })
        });
        Ok(Some(in_use))
    }

    /// Decodes blocks as far as the reader of a file needs them, while it does; other threads may
    /// do the same with other ones of them. Blocks that would have to be fetched are left out.
    pub(super) fn prepare(&self, image: &dyn NextBlocks, file: u128, needs: &[Need]) {
        for need in needs {
            let Some(_busy) = self.file_readers.begin(file, need.key) else {
                continue;
            };
            if !image.is_here(need.key) {
                continue;
            }
            let decoded = match self.open_ahead(image, need.key) {
                Ok(None) => continue,
                Err(error) => Err(error),
                Ok(Some(block)) => self.decode_kept(file, need.key, block),
            };
            if decoded.is_err() {
                self.file_readers.leave(file, need.key);
            }
        }
    }

    /// Decodes a block as far as the reader of a file needs it, if it still does.
    fn decode_kept(&self, file: u128, key: u128, block: InUse) -> Result<()> {
        let Some(end) = self.file_readers.keep(file, key, &block) else {
            return Ok(());
        };
        let decoded = block.decode_to(end);
        self.update_weight(key, &block.release());
        decoded
    }

    pub(super) fn cached(&self, key: u128) -> Option<Arc<Block>> {
        match self.cache.peek(&key)? {
            CacheEntry::Block { block, .. } => Some(block),
            CacheEntry::Failed(_) => None,
        }
    }

    pub(super) fn forget(&self, key: u128, block: &Arc<Block>) {
        self.cache.remove_if(&key, |outcome| match outcome {
            CacheEntry::Block { block: kept, .. } => Arc::ptr_eq(kept, block),
            CacheEntry::Failed(_) => false,
        });
    }
}

/// Finishes a block on a background thread, unless it is evicted before; on this thread if there
/// are too many, so that a busy mount does not accumulate them.
pub(super) fn finish_in_background(blocks: &Arc<Blocks>, key: u128, block: &Arc<Block>) {
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
pub(super) fn spawn(blocks: &Arc<Blocks>, work: impl FnOnce() + Send + 'static) {
    let counted = CountedThread::new(blocks);
    // if the thread cannot be started, dropping the closure takes back the count
    let _ = thread::Builder::new()
        .name("decode".into())
        .spawn(move || counted.0.permits.run(work));
}

/// The start of a block that no reader has requested; dropping it allows the next one.
pub(super) struct Starting(pub(super) Arc<Blocks>);

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
    let in_use = InUse::new(Arc::clone(block));
    // a reader of the bytes after a failure finds it again
    while Arc::strong_count(block) > 2 && matches!(block.advance(), Ok(true)) {}
    drop(in_use);
    // what it takes more than before may evict it
    blocks.update_weight(key, block);
}
