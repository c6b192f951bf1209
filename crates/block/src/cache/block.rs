//! A block of an image in memory, decoded as far as readers have needed it.
//!
//! In: what it is decoded from, and ranges of bytes. Out: these bytes.
//!
//! **Invariants:** one reader at a time decodes, step by step, up to what it needs, so nothing is
//! decoded twice; between two steps (half a millisecond) readers whose bytes are decoded go first,
//! and a finished block is read without a lock. A failed step fails all reads of later bytes, and
//! no others.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use sinterfs_model::{Error, Result};

use super::fair_mutex::FairMutex;
use super::shared_error::copy;
use crate::codec::Decoder;
use crate::locks::{AtomicU64, AtomicUsize, Mutex, MutexGuard, OnceLock, Ordering};
use crate::{ChecksummedWindow, ReadAt, Window};

/// Where the bytes of a block come from.
#[derive(Debug)]
pub enum Opened {
    /// All of them, decoded.
    Decoded(Vec<u8>),
    /// Decoded as far as readers need them.
    Encoded(Box<Decoder>),
    /// Stored without compression: read from here each time, without memory.
    Stored(Window),
    /// Stored without compression, with checksums in memory that each read is compared with.
    Checksummed(ChecksummedWindow),
}

/// A block that many threads may read at once.
pub(super) struct Block {
    len: u64,
    /// Reads the bytes of a block that is stored without compression.
    stored: Option<Box<dyn ReadAt>>,
    /// Bytes of memory that reading them takes.
    stored_memory: u64,
    decoded: OnceLock<Vec<u8>>,
    work: FairMutex<Work>,
    /// For each thread that waits for `work`, the end of the bytes that it needs.
    waiting: Mutex<Vec<u64>>,
    weighing: Mutex<()>,
    /// How many read it, decode it or will need it soon.
    users: AtomicUsize,
    /// The decoded bytes, for readers that must not wait.
    ready: AtomicU64,
}

/// A block that stays in the cache until this is dropped.
pub(super) struct InUse(Arc<Block>);

impl InUse {
    pub(super) fn new(block: Arc<Block>) -> Self {
        block.users.fetch_add(1, Ordering::Relaxed);
        Self(block)
    }

    /// Allows the cache to evict it.
    pub(super) fn release(self) -> Arc<Block> {
        Arc::clone(&self.0)
    }
}

impl Deref for InUse {
    type Target = Arc<Block>;

    fn deref(&self) -> &Arc<Block> {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The decoding that is not done yet.
struct Work {
    /// `None` when the block is finished.
    decoder: Option<Box<Decoder>>,
    failure: Option<Error>,
    /// Whether a thread has undertaken to finish the block.
    claimed: bool,
}

/// How a read was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Cached,
    Decoded,
}

impl Block {
    pub(super) fn new(opened: Opened) -> Self {
        let (decoded, work) = (OnceLock::new(), FairMutex::new(Work::none()));
        let (mut stored_memory, mut ready) = (0, 0);
        let (len, stored) = match opened {
            Opened::Decoded(bytes) => {
                let len = bytes.len() as u64;
                ready = len;
                // cannot be set yet
                let _ = decoded.set(bytes);
                (len, None)
            }
            Opened::Encoded(decoder) => {
                let len = decoder.len();
                work.lock().decoder = Some(decoder);
                (len, None)
            }
            Opened::Stored(window) => (window.len(), Some(Box::new(window) as Box<dyn ReadAt>)),
            Opened::Checksummed(window) => {
                stored_memory = window.memory();
                (window.len(), Some(Box::new(window) as _))
            }
        };
        Self {
            len,
            stored,
            stored_memory,
            decoded,
            work,
            waiting: Mutex::default(),
            weighing: Mutex::new(()),
            users: AtomicUsize::new(0),
            ready: AtomicU64::new(ready),
        }
    }

    /// Returns whether the bytes before `end` are decoded, or need not be.
    pub(super) fn has(&self, end: u64) -> bool {
        self.is_stored() || self.ready.load(Ordering::Relaxed) >= end
    }

    /// Returns whether the block is to stay in the cache.
    pub(super) fn is_in_use(&self) -> bool {
        self.users.load(Ordering::Relaxed) > 0
    }

    /// Calls a function with the memory that the block takes, in bytes. Calls exclude each other,
    /// so that the last one has the latest value.
    pub(super) fn with_memory<T>(&self, call: impl FnOnce(u64) -> T) -> T {
        let _exclusive = self.weighing.lock();
        let work = self.work.lock();
        let memory = match (self.decoded.get(), &work.decoder) {
            (Some(decoded), _) => decoded.len() as u64,
            (None, Some(decoder)) => decoder.memory(),
            (None, None) => self.stored_memory.saturating_add(size_of::<Self>() as u64),
        };
        drop(work);
        call(memory)
    }

    /// Returns whether its bytes are stored without compression and never decoded.
    pub(super) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Fills the buffer with the bytes from `offset` on, decoding as far as needed. Fails with
    /// `Corrupt` if the block is shorter.
    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) -> Result<Access> {
        let len = buf.len() as u64;
        let Some(end) = offset.checked_add(len).filter(|end| *end <= self.len) else {
            return Err(Error::corrupt(format!(
                "the block has {} bytes, but {len} are needed from {offset} on",
                self.len
            )));
        };
        if let Some(stored) = &self.stored {
            stored.read_at(offset, buf)?;
            return Ok(Access::Cached);
        }
        let fits = |decoded: &[u8]| decoded.len() as u64 >= end;
        let mut access = Access::Cached;
        if self.decoded.get().is_none() {
            let mut work = self.lock_work(end);
            while let Some(decoder) = &work.decoder {
                if fits(decoder.decoded()) {
                    return fill(buf, decoder.decoded(), offset).map(|()| access);
                }
                access = Access::Decoded;
                self.step(&mut work)?;
                work = self.serve_waiting(work);
            }
        }
        let decoded = self.decoded.get().ok_or_else(decoder_panicked)?;
        fill(buf, decoded, offset).map(|()| access)
    }

    /// Waits until no thread decodes, or until the decoding one pauses for readers whose bytes are
    /// decoded.
    fn lock_work(&self, end: u64) -> MutexGuard<'_, Work> {
        if let Some(work) = self.work.try_lock() {
            return work;
        }
        self.waiting.lock().push(end);
        let work = self.work.lock();
        let mut waiting = self.waiting.lock();
        if let Some(own) = waiting.iter().position(|other| *other == end) {
            waiting.swap_remove(own);
        }
        work
    }

    /// Hands the lock over if a thread waits for bytes that are decoded now. Not to others:
    /// continuing to decode on another processor after each step costs much time.
    fn serve_waiting<'a>(&'a self, work: MutexGuard<'a, Work>) -> MutexGuard<'a, Work> {
        let decoded = match &work.decoder {
            Some(decoder) => decoder.decoded().len() as u64,
            None => self.len,
        };
        let ready = self.waiting.lock().iter().any(|end| *end <= decoded);
        if ready {
            self.work.hand_over(work)
        } else {
            work
        }
    }

    /// Returns `true` once: if the block is not finished and there is a reason to finish it.
    pub(super) fn claim_finish(&self, reason: impl FnOnce(&Decoder) -> bool) -> bool {
        let mut work = self.work.lock();
        let claim = !work.claimed && work.decoder.as_deref().is_some_and(reason);
        work.claimed |= claim;
        claim
    }

    /// Returns whether a block takes more memory in progress than finished.
    pub(super) fn is_heavy(decoder: &Decoder) -> bool {
        decoder.memory() > decoder.len()
    }

    /// Decodes up to `end` while anybody else refers to the block. Readers find a failure again.
    pub(super) fn decode_to(self: &Arc<Self>, end: u64) -> Result<()> {
        let mut work = self.work.lock();
        while let Some(decoder) = &work.decoder {
            let is_done = decoder.decoded().len() as u64 >= end;
            if is_done || Arc::strong_count(self) == 1 {
                break;
            }
            self.step(&mut work)?;
            work = self.serve_waiting(work);
        }
        Ok(())
    }

    /// Decodes one step; returns whether more is left to decode. Readers that wait go before the
    /// next step.
    pub(super) fn advance(&self) -> Result<bool> {
        let mut work = self.work.lock();
        let done = self.step(&mut work);
        done.map(|()| work.decoder.is_some())
    }

    /// Decodes one step.
    fn step(&self, work: &mut Work) -> Result<()> {
        if let Some(failure) = &work.failure {
            return Err(copy(failure));
        }
        let Some(mut decoder) = work.decoder.take() else {
            return Ok(());
        };
        let done = decoder.advance();
        let ready = decoder.decoded().len() as u64;
        self.ready.store(ready, Ordering::Relaxed);
        if done.is_ok() && decoder.is_finished() {
            // exactly one step finishes the block
            let _ = self.decoded.set(decoder.into_decoded());
        } else {
            work.failure = done.as_ref().err().map(copy);
            work.decoder = Some(decoder);
        }
        done
    }
}

impl Work {
    fn none() -> Self {
        Self {
            decoder: None,
            failure: None,
            claimed: false,
        }
    }
}

/// Makes the error for a block whose decoder panicked.
#[cold]
fn decoder_panicked() -> Error {
    Error::corrupt("the decoder ended in a panic")
}

fn fill(buf: &mut [u8], decoded: &[u8], offset: u64) -> Result<()> {
    let found = usize::try_from(offset)
        .ok()
        .and_then(|start| decoded.get(start..)?.get(..buf.len()))
        .ok_or_else(|| Error::corrupt("the block is shorter than its header says"))?;
    buf.copy_from_slice(found);
    Ok(())
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("len", &self.len)
            .field("stored", &self.stored.is_some())
            .field("finished", &self.decoded.get().is_some())
            .finish_non_exhaustive()
    }
}
