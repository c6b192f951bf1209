//! The cache of decoded blocks that every reader of an image shares.
//!
//! In: a block's key (32 bits of its image, then 96 bits that the image chooses), a range of its
//! bytes, and a function that opens it. Out: these bytes, from memory if they are cached.
//!
//! **Invariant:** concurrent readers of a missing block share one decode, and each waits only for
//! the bytes it needs. A failure is reported to all waiting readers and is not cached: the next
//! read tries again, and bytes before damage stay readable. A block that is being read or decoded
//! is not evicted. Memory is bounded by the capacity, plus the blocks that are being decoded.
//!
//! A block in progress can take more memory than a finished one, since some decoders have their own
//! window. Such a block is finished in the background: otherwise blocks in progress would evict
//! each other, and decoding would start again each time. With decoding ahead enabled, any block
//! that fits is finished, and the next one started, while readers wait long for decoders.

mod ahead;
mod block;
mod blocks;
mod entry;
mod fair_mutex;
mod file_readers;
mod shared_error;
mod spill;

use std::fmt;
use std::fs::File;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Weak};

use quick_cache::sync::GuardResult;
use sinterfs_model::Result;

use ahead::AheadPolicy;
use block::{Access, Block, InUse};
use blocks::{Blocks, Starting, finish_in_background, spawn};
use entry::CacheEntry;
use shared_error::copy;
use spill::Spill;

use crate::locks::{AtomicU64, Mutex, OnceLock, Ordering};

pub use ahead::NextBlocks;
pub use block::Opened;
pub use file_readers::Need;

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

/// Bytes of a file for which at least is prepared, where blocks are small.
const LEAST_WINDOW: u64 = 4 << 20;

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

impl BlockCache {
    /// Makes an empty cache of `capacity` bytes, for blocks of about `block_size` bytes. A block
    /// larger than the capacity is served, but not cached.
    pub fn new(capacity: u64, block_size: u64) -> Self {
        Self {
            blocks: Arc::new(Blocks::new(capacity, block_size)),
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

    /// Takes notice of a read of `len` bytes of a file, before it is done. If the file is read
    /// sequentially, and decoding ahead is enabled, decodes the next needed blocks on other
    /// processors: the blocks that `needs` lists for a number of bytes of the file from `offset`
    /// on, in the order in which they are needed. They stay in the cache until they are read.
    ///
    /// `file` is unique among the files of all images that share this cache; it begins with the 32
    /// bits of its image, as the keys of blocks do.
    pub fn before_read(
        &self,
        file: u128,
        offset: u64,
        len: u64,
        needs: impl FnOnce(u64) -> Vec<Need>,
    ) {
        let blocks = &self.blocks;
        if !self.ahead.is_enabled() {
            return;
        }
        let Some(window) = blocks.file_readers.add(file, offset, len) else {
            return;
        };
        let first_block = file >> 96 << 96;
        if let Some(image) = self.image_of(first_block) {
            self.prepare(file, &image, window, needs);
        }
    }

    fn prepare(
        &self,
        file: u128,
        image: &Arc<dyn NextBlocks>,
        window: u64,
        needs: impl FnOnce(u64) -> Vec<Need>,
    ) {
        let blocks = &self.blocks;
        let size = image.block_size().max(1);
        // as much as the decoders can do, and what the reader is in
        let most = (blocks.permits.count() as u64).saturating_add(1);
        let needs = needs(window.min(most.saturating_mul(size.max(LEAST_WINDOW))));
        let room = (size, self.capacity() / 2);
        let cached = |key| blocks.cached(key);
        let mut open = blocks.file_readers.plan(file, &needs, room, cached);
        // the reader itself decodes the block that it is in
        if open.first() == needs.first() && open.len() > 1 {
            open.rotate_left(1);
        }
        let open: Arc<[Need]> = open.into();
        let threads = blocks.permits.free().min(open.len());
        for _ in (0..threads).take_while(|_| blocks.may_prepare()) {
            let (shared, image, open) = (Arc::clone(blocks), Arc::clone(image), Arc::clone(&open));
            spawn(blocks, move || shared.prepare(&*image, file, &open));
        }
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
        let (in_use, opened) = self.block(key, open)?;
        let read = in_use.read(offset, buf);
        let decoded = matches!(read, Ok(Access::Decoded));
        let count = if opened || decoded {
            &self.misses
        } else {
            &self.hits
        };
        count.fetch_add(1, Ordering::Relaxed);
        // a stored block keeps no failure, and its checksums stay valid
        if read.is_err() && !in_use.is_stored() {
            self.blocks.forget(key, &in_use);
        }
        if !decoded && !opened {
            return read.map(drop);
        }
        // what is larger than the cache, or took more memory meanwhile, may be evicted from now on
        let block = in_use.release();
        self.blocks.update_weight(key, &block);
        if decoded {
            if block.claim_finish(Block::is_heavy) {
                finish_in_background(&self.blocks, key, &block);
            }
            if self.ahead.is_due(start) {
                self.decode_next(key, &block);
            }
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
        let block = block.release();
        if opened {
            self.blocks.update_weight(key, &block);
        }
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
    fn block(&self, key: u128, open: impl FnOnce() -> Result<Opened>) -> Result<(InUse, bool)> {
        let cache = &self.blocks.cache;
        let guard = match cache.get_value_or_guard(&key, None) {
            GuardResult::Guard(guard) => guard,
            GuardResult::Value(CacheEntry::Block { block, .. }) => {
                return Ok((InUse::new(block), false));
            }
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
                let in_use = InUse::new(Arc::new(Block::new(content)));
                // not inserted after a concurrent `clear` or `remove`, but served
                let _ = in_use.with_memory(|memory| {
                    let block = Arc::clone(&in_use);
                    guard.insert(CacheEntry::Block { block, memory })
                });
                Ok((in_use, true))
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
        self.blocks.file_readers.clear();
        self.blocks.cache.clear();
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

#[cfg(test)]
mod tests;
