//! A block of an image while it is in memory: as far decoded as it was needed until now.
//!
//! In: what it is to be decoded from, and ranges of bytes. Out: these bytes.
//!
//! **Invariants:** one reader at a time decodes, step by step, up to what it needs, so nothing is
//! decoded twice; between two steps (half a millisecond) it lets those go first whose bytes are
//! decoded, and a finished block is read without waiting. A failed step fails all who need more,
//! then and later, and nobody else.

use std::fmt;
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};
use sinterfs_model::{Error, Result};

use super::shared_error::copy;
use crate::codec::Decoder;
use crate::{ReadAt, Summed, Window};

/// Says where the bytes of a block come from.
#[derive(Debug)]
pub enum Opened {
    /// All of them, decoded.
    Decoded(Vec<u8>),
    /// Decoded when they are needed.
    Encoded(Box<Decoder>),
    /// Stored as they are: they are read from here each time and take no memory.
    Stored(Window),
    /// Stored as they are, with checksums in memory that each read is compared with.
    Summed(Summed),
}

/// Holds a block that many may read at once.
pub(super) struct Block {
    len: u64,
    /// Where the bytes of a block are that is not decoded.
    stored: Option<Box<dyn ReadAt>>,
    /// Bytes of memory that it takes to read them.
    stored_memory: u64,
    decoded: OnceLock<Vec<u8>>,
    work: Mutex<Work>,
    /// Up to where those need the block who wait for `work`.
    waiting: Mutex<Vec<u64>>,
    weighing: Mutex<()>,
}

/// What is left to do.
struct Work {
    /// `None` when there is nothing left.
    decoder: Option<Box<Decoder>>,
    failure: Option<Error>,
    /// Whether somebody has taken it on to finish the block.
    claimed: bool,
}

/// What a read needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    Found,
    Decoded,
}

impl Block {
    pub(super) fn new(opened: Opened) -> Self {
        let (decoded, work) = (OnceLock::new(), Mutex::new(Work::nothing()));
        let mut stored_memory = 0;
        let (len, stored) = match opened {
            Opened::Decoded(bytes) => {
                let len = bytes.len() as u64;
                // just made: it is empty
                let _ = decoded.set(bytes);
                (len, None)
            }
            Opened::Encoded(decoder) => {
                let len = decoder.len();
                work.lock().decoder = Some(decoder);
                (len, None)
            }
            Opened::Stored(window) => (window.len(), Some(Box::new(window) as Box<dyn ReadAt>)),
            Opened::Summed(summed) => {
                stored_memory = summed.memory();
                (summed.len(), Some(Box::new(summed) as _))
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
        }
    }

    /// Hands over how much memory it takes now, in bytes; two who ask come one after the other, so
    /// that what was told last is the latest.
    pub(super) fn weigh<T>(&self, tell: impl FnOnce(u64) -> T) -> T {
        let _turn = self.weighing.lock();
        let work = self.work.lock();
        let memory = match (self.decoded.get(), &work.decoder) {
            (Some(decoded), _) => decoded.len() as u64,
            (None, Some(decoder)) => decoder.memory(),
            (None, None) => self.stored_memory.saturating_add(size_of::<Self>() as u64),
        };
        drop(work);
        tell(memory)
    }

    /// Returns whether its bytes are read where they are stored, and never decoded.
    pub(super) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Fills the buffer with the bytes from `offset` on, decoding up to there if need be.
    /// `Corrupt` if the block ends before.
    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) -> Result<Effort> {
        let len = buf.len() as u64;
        let Some(end) = offset.checked_add(len).filter(|end| *end <= self.len) else {
            return Err(Error::corrupt(format!(
                "the block has {} bytes, but {len} are needed from {offset} on",
                self.len
            )));
        };
        if let Some(stored) = &self.stored {
            stored.read_at(offset, buf)?;
            return Ok(Effort::Found);
        }
        let fits = |decoded: &[u8]| decoded.len() as u64 >= end;
        let mut effort = Effort::Found;
        if self.decoded.get().is_none() {
            let mut work = self.wait_for_turn(end);
            while let Some(decoder) = &work.decoder {
                if fits(decoder.decoded()) {
                    return fill(buf, decoder.decoded(), offset).map(|()| effort);
                }
                effort = Effort::Decoded;
                self.step(&mut work)?;
                self.let_others_go(&mut work);
            }
        }
        let decoded = self.decoded.get().ok_or_else(lost)?;
        fill(buf, decoded, offset).map(|()| effort)
    }

    /// Waits until nobody decodes, or until somebody lets those go whose bytes are decoded.
    fn wait_for_turn(&self, end: u64) -> MutexGuard<'_, Work> {
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

    /// Hands the turn over if somebody waits for what is decoded now. Not to others: who takes over
    /// decoding after each step, on another processor, loses much time.
    fn let_others_go(&self, work: &mut MutexGuard<'_, Work>) {
        let decoded = match &work.decoder {
            Some(decoder) => decoder.decoded().len() as u64,
            None => self.len,
        };
        let ready = self.waiting.lock().iter().any(|end| *end <= decoded);
        if ready {
            MutexGuard::bump(work);
        }
    }

    /// Returns, once only, that the block is to be finished: that it is not, and that there is
    /// reason to.
    pub(super) fn claim_finish(&self, reason: impl FnOnce(&Decoder) -> bool) -> bool {
        let mut work = self.work.lock();
        let claim = !work.claimed && work.decoder.as_deref().is_some_and(reason);
        work.claimed |= claim;
        claim
    }

    /// Returns whether a block takes more memory as it is than when it is finished.
    pub(super) fn is_heavy(decoder: &Decoder) -> bool {
        decoder.memory() > decoder.len()
    }

    /// Decodes a little more; tells whether anything is left to decode.
    pub(super) fn advance(&self) -> Result<bool> {
        let mut work = self.work.lock();
        let done = self.step(&mut work);
        let left = work.decoder.is_some();
        // nobody needs this step more than the ones who wait
        MutexGuard::unlock_fair(work);
        done.map(|()| left)
    }

    /// Decodes a little more.
    fn step(&self, work: &mut Work) -> Result<()> {
        if let Some(failure) = &work.failure {
            return Err(copy(failure));
        }
        let Some(mut decoder) = work.decoder.take() else {
            return Ok(());
        };
        let done = decoder.advance();
        if done.is_ok() && decoder.is_finished() {
            // one step finishes it, and only one
            let _ = self.decoded.set(decoder.into_decoded());
        } else {
            work.failure = done.as_ref().err().map(copy);
            work.decoder = Some(decoder);
        }
        done
    }
}

impl Work {
    fn nothing() -> Self {
        Self {
            decoder: None,
            failure: None,
            claimed: false,
        }
    }
}

/// Makes the error for a block whose decoder panicked.
#[cold]
fn lost() -> Error {
    Error::corrupt("the decoder ended in a panic")
}

fn fill(buf: &mut [u8], decoded: &[u8], offset: u64) -> Result<()> {
    let found = usize::try_from(offset)
        .ok()
        .and_then(|start| decoded.get(start..)?.get(..buf.len()))
        .ok_or_else(|| Error::corrupt("the block is shorter than it says"))?;
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
