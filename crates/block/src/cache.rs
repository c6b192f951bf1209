//! The cache of decoded blocks that every reader of an image shares.
//!
//! In: a block's key (96 bits that its image is free to choose, behind the image's own 32), a range
//! of its bytes, and the way to open it. Out: these bytes, from memory if they are there.
//!
//! **Invariant:** many readers of one missing block share one decode, and each waits only for what
//! it needs of it. A failure is reported to all who waited for it and is not kept: the next read
//! tries again; what lies before a damage is read all the same. Memory is bounded by the capacity,
//! plus the blocks that are being decoded at the moment.
//!
//! A block in progress can take more memory than a finished one (some decoders keep a window of
//! their own). From that point on it is finished in the background: else blocks in progress would
//! push each other out, and decoding would begin anew each time. Where it was asked for, any block
//! that fits is finished, and the one behind it begun, when readers wait much for decoders.

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

use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{OptionsBuilder, Weighter};
use sinterfs_model::{Error, Result};

use ahead::{Ahead, Turns};
use block::{Block, Effort};
use shared_error::copy;
use spill::Spill;

pub use block::Opened;

/// Keeps decoded blocks up to a number of bytes; many threads may ask at once.
pub struct BlockCache {
    blocks: Arc<Blocks>,
    hits: AtomicU64,
    misses: AtomicU64,
    ahead: Ahead,
    /// Where blocks come from that nobody has asked for yet.
    upcoming: OnceLock<Weak<dyn Upcoming>>,
    spill: OnceLock<Spill>,
}

/// The blocks of an image, in their order.
pub trait Upcoming: Send + Sync {
    /// Returns the key of the block behind the one with a key; behind the last one is the first.
    /// `None` for a key of no block of this image.
    fn next(&self, key: u128) -> Option<u128>;
    /// Opens the block of a key.
    fn open(&self, key: u128) -> Result<Opened>;
    /// Returns the most bytes that a decoded block has.
    fn block_size(&self) -> u64;
}

/// What threads that finish blocks share with the cache.
struct Blocks {
    cache: Cache<u128, Outcome, ByMemory>,
    /// Taken by those who finish a block.
    finishing: Turns,
    /// Threads that finish blocks or wait for their turn.
    finishers: AtomicUsize,
    /// Whether somebody is about to begin a block that nobody has asked for.
    beginning: AtomicBool,
}

/// The most threads that finish blocks or wait to; beyond, whoever read a block finishes it.
const FINISHERS: usize = 8;

/// Returns what the keys of an image's blocks begin with: no other image of this process has the
/// same. The low 96 bits are zero.
pub fn image_key() -> u128 {
    static OPENED: AtomicU32 = AtomicU32::new(0);
    u128::from(OPENED.fetch_add(1, Ordering::Relaxed)) << 96
}

/// A block that somebody keeps, whatever the cache does with it.
#[derive(Debug, Clone)]
pub struct Held(Arc<Block>);

impl Held {
    /// Fills the buffer with the block's bytes from `offset` on. `Corrupt` if it ends before.
    pub fn read(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.0.read(offset, buf).map(drop)
    }
}

/// What a cache has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Reads that were served without decoding (from memory, from the stored bytes, or by waiting
    /// for another reader's decode).
    pub hits: u64,
    /// Reads that had to open a block or decode more of it.
    pub misses: u64,
    /// Bytes of memory that blocks take now.
    pub bytes: u64,
}

/// What opening gave, with the memory it took when that was last looked at; a failure is in the
/// cache only until its waiters have been woken.
#[derive(Clone)]
enum Outcome {
    Block { block: Arc<Block>, memory: u64 },
    Failed(Arc<Error>),
}

#[derive(Clone)]
struct ByMemory;

impl Weighter<u128, Outcome> for ByMemory {
    fn weight(&self, _key: &u128, outcome: &Outcome) -> u64 {
        match outcome {
            // what weighs nothing would never be evicted
            Outcome::Block { memory, .. } => (*memory).max(1),
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
        let cache = Cache::with_options(options, ByMemory, Default::default(), Default::default());
        let blocks = Blocks {
            cache,
            finishing: Turns::beside_readers(),
            finishers: AtomicUsize::new(0),
            beginning: AtomicBool::new(false),
        };
        Self {
            blocks: Arc::new(blocks),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            ahead: Ahead::new(),
            upcoming: OnceLock::new(),
            spill: OnceLock::new(),
        }
    }

    /// Makes the cache decode each block once and to its end from now on, and keep it in a file,
    /// which grows to what all blocks take. Only the first file that is given is used.
    pub fn spill_to(&self, file: File) {
        let _ = self.spill.set(Spill::new(file));
    }

    /// Makes the cache decode blocks to their ends on other processors from now on, while readers
    /// wait for decoders more often than now and then, and as far as there is room for them: those
    /// that are read, and the next ones of the image, if it is given. Only the first image that is
    /// given is used.
    pub fn decode_ahead(&self, image: Option<Weak<dyn Upcoming>>) {
        if let Some(image) = image {
            let _ = self.upcoming.set(image);
        }
        self.ahead.want();
    }

    /// Fills the buffer with a block's bytes from `offset` on. The block is opened if it is not in
    /// memory, and decoded as far as is needed. `Corrupt` if it ends before.
    ///
    /// `open` must not ask this cache for the same key.
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
        let decoded = matches!(read, Ok(Effort::Decoded));
        let count = if opened || decoded {
            &self.misses
        } else {
            &self.hits
        };
        count.fetch_add(1, Ordering::Relaxed);
        if decoded {
            self.blocks.weigh(key, &block);
            if block.claim_finish(Block::is_heavy) {
                finish_later(&self.blocks, key, &block);
            }
            if self.ahead.is_worth_it(start) {
                self.go_ahead(key, &block);
            }
        }
        // a stored block keeps no failure, and its checksums are of bytes that were sound
        if read.is_err() && !block.is_stored() {
            self.blocks.forget(key, &block);
        }
        read.map(drop)
    }

    /// Returns a block that is read again and again to whoever asks, for as long as they keep it:
    /// its bytes cost no search of the cache then. It is opened if it is not in memory.
    ///
    /// `open` must not ask this cache for the same key.
    pub fn hold(&self, key: u128, open: impl FnOnce() -> Result<Opened>) -> Result<Held> {
        let (block, opened) = self.block(key, open)?;
        let count = if opened { &self.misses } else { &self.hits };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Held(block))
    }

    /// Finishes the block that was read, and begins the next one that is not there, if there is
    /// room.
    fn go_ahead(&self, key: u128, block: &Arc<Block>) {
        let blocks = &self.blocks;
        if blocks.has_turns() && block.claim_finish(|decoder| blocks.has_room(decoder.len())) {
            finish_later(blocks, key, block);
        }
        let image = self.upcoming.get().and_then(Weak::upgrade);
        let Some(image) = image.filter(|image| blocks.has_room(image.block_size())) else {
            return;
        };
        if blocks.has_turns() && !blocks.beginning.swap(true, Ordering::Relaxed) {
            let beginning = Beginning(Arc::clone(blocks));
            later(blocks, move || beginning.0.begin_next(&*image, key));
        }
    }

    /// Fills the buffer with a whole block, as `read` does; but if the block is not in memory it is
    /// decoded into the buffer by `decode` and not kept: for who reads each block once.
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

    /// Returns whether a block is in memory, without counting as a use of it.
    pub fn holds(&self, key: u128) -> bool {
        self.blocks.cache.peek(&key).is_some()
    }

    /// Returns the block of a key, and whether it had to be opened. Who asks for a block that
    /// another thread is opening waits for that thread's result or error.
    fn block(
        &self,
        key: u128,
        open: impl FnOnce() -> Result<Opened>,
    ) -> Result<(Arc<Block>, bool)> {
        let cache = &self.blocks.cache;
        let guard = match cache.get_value_or_guard(&key, None) {
            GuardResult::Guard(guard) => guard,
            GuardResult::Value(Outcome::Block { block, .. }) => return Ok((block, false)),
            GuardResult::Value(Outcome::Failed(error)) => return Err(copy(&error)),
            GuardResult::Timeout => unreachable!("no timeout was given"),
        };
        // If `open` panics the guard is dropped and a waiter takes its place.
        let opened = match self.spill.get() {
            Some(spill) => spill.open(key, open),
            None => open(),
        };
        match opened {
            Ok(content) => {
                let block = Arc::new(Block::new(content));
                // refused if `clear` or `remove` came in between: served all the same
                let _ = block.weigh(|memory| {
                    let block = Arc::clone(&block);
                    guard.insert(Outcome::Block { block, memory })
                });
                Ok((block, true))
            }
            Err(error) => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                let shared = copy(&error);
                let _ = guard.insert(Outcome::Failed(Arc::new(shared)));
                cache.remove_if(&key, |outcome| matches!(outcome, Outcome::Failed(_)));
                Err(error)
            }
        }
    }

    /// Returns what the cache has done so far.
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

    /// Changes the capacity in bytes; blocks that no longer fit are forgotten.
    pub fn set_capacity(&self, capacity: u64) {
        self.blocks.cache.set_capacity(capacity);
    }

    /// Forgets a block, if it is there. Who is reading it goes on.
    pub fn forget(&self, key: u128) {
        self.blocks.cache.remove(&key);
    }

    /// Forgets all blocks.
    pub fn clear(&self) {
        self.blocks.cache.clear();
    }
}

impl Blocks {
    /// Takes the memory of a block into account as it is now.
    fn weigh(&self, key: u128, block: &Arc<Block>) {
        block.weigh(|memory| {
            let block = Arc::clone(block);
            // Refused if it was evicted in between: it is gone then when its readers are.
            let _ = self
                .cache
                .replace(key, Outcome::Block { block, memory }, true);
        });
    }

    /// Returns whether a thread more may wait for its turn to finish a block.
    fn has_turns(&self) -> bool {
        self.finishers.load(Ordering::Relaxed) < FINISHERS
    }

    /// Returns whether a block of so many bytes can be decoded to its end without pushing another
    /// out.
    fn has_room(&self, len: u64) -> bool {
        // one that keeps a window takes the most memory right before it is finished
        let most = self.cache.weight().saturating_add(len.saturating_mul(2));
        most <= self.cache.capacity()
    }

    /// Decodes the first block behind another that is not in memory.
    fn begin_next(&self, image: &dyn Upcoming, key: u128) {
        let mut next = image.next(key);
        while let Some(found) = next.filter(|found| *found != key) {
            if self.cache.peek(&found).is_none() {
                return self.begin(image, found);
            }
            next = image.next(found);
        }
    }

    fn begin(&self, image: &dyn Upcoming, key: u128) {
        let now = Some(Duration::ZERO);
        let GuardResult::Guard(guard) = self.cache.get_value_or_guard(&key, now) else {
            // somebody needs it already
            return;
        };
        // whoever needs a block that cannot be opened is told so
        let Ok(opened) = image.open(key) else {
            return;
        };
        let block = Arc::new(Block::new(opened));
        block.claim_finish(|_| true);
        let _ = block.weigh(|memory| {
            let block = Arc::clone(&block);
            guard.insert(Outcome::Block { block, memory })
        });
        finish(self, key, &block);
    }

    fn forget(&self, key: u128, block: &Arc<Block>) {
        self.cache.remove_if(&key, |outcome| match outcome {
            Outcome::Block { block: kept, .. } => Arc::ptr_eq(kept, block),
            Outcome::Failed(_) => false,
        });
    }
}

/// Finishes a block on a thread of its own when it is its turn, unless it is evicted before; here
/// where many threads wait already, so that a busy mount does not gather them.
fn finish_later(blocks: &Arc<Blocks>, key: u128, block: &Arc<Block>) {
    if !blocks.has_turns() {
        return finish(blocks, key, block);
    }
    let (shared, block) = (Arc::clone(blocks), Arc::downgrade(block));
    later(blocks, move || {
        if let Some(block) = block.upgrade() {
            finish(&shared, key, &block);
        }
    });
}

/// Does work on a thread of its own when it is its turn. Where there can't be a thread it is not
/// done: readers do it in time.
fn later(blocks: &Arc<Blocks>, work: impl FnOnce() + Send + 'static) {
    let place = Counted::new(blocks);
    // where it cannot be spawned, the closure is dropped and its place given back
    let _ = thread::Builder::new()
        .name("decode".into())
        .spawn(move || place.0.finishing.take(work));
}

/// Work on a block that nobody has asked for: over when it is dropped, done or not.
struct Beginning(Arc<Blocks>);

impl Drop for Beginning {
    fn drop(&mut self) {
        self.0.beginning.store(false, Ordering::Relaxed);
    }
}

/// A thread that finishes blocks or waits for its turn, counted until it ends, however that is.
struct Counted(Arc<Blocks>);

impl Counted {
    fn new(blocks: &Arc<Blocks>) -> Self {
        blocks.finishers.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(blocks))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.finishers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Decodes a block to its end while anybody else holds it.
fn finish(blocks: &Blocks, key: u128, block: &Arc<Block>) {
    // a failure is found again by whoever reads up to there
    while Arc::strong_count(block) > 1 && matches!(block.advance(), Ok(true)) {}
    blocks.weigh(key, block);
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
