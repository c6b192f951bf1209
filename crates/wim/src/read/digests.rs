//! Compares content with its SHA-1 while it is read.
//!
//! In: bytes of blobs as readers get them. Out: an error for content that is another one.
//!
//! **Invariant:** whoever reads a blob from its first byte to its last, in order, gets an error
//! with the last byte if the content is another one, however many read it at once. Each blob is
//! compared once. Memory is bounded: the states of the `MAX_READS` latest reads are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use sinterfs_block::checksum::{Sha1, Sha1Digest};
use sinterfs_model::{Error, Result};

use super::blobs::Blob;

/// The number of reads that are remembered so that later ones can continue them.
const MAX_READS: usize = 1024;

/// The known facts about a blob.
const UNKNOWN: u8 = 0;
const SOUND: u8 = 1;
const DAMAGED: u8 = 2;

/// Which blobs were compared, and those that are being read.
#[derive(Debug, Default)]
pub(crate) struct DigestChecks {
    known: Vec<AtomicU8>,
    begun: Mutex<Begun>,
}

/// The reads that others may continue.
#[derive(Debug, Default)]
struct Begun {
    /// The state of the digest of all bytes of a blob before an offset.
    states: HashMap<(u32, u64), Sha1>,
    /// The oldest first.
    order: VecDeque<(u32, u64)>,
}

impl Begun {
    /// Keeps a state, in place of the oldest one if there are many. States stay when they are
    /// continued: another reader of the same blob may be as far.
    fn insert(&mut self, key: (u32, u64), state: Sha1) {
        if self.states.insert(key, state).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MAX_READS
            && let Some(oldest) = self.order.pop_front()
        {
            self.states.remove(&oldest);
        }
    }
}

impl DigestChecks {
    /// Makes the checks of a number of blobs.
    pub(super) fn new(blobs: usize) -> Self {
        Self {
            known: (0..blobs).map(|_| AtomicU8::new(UNKNOWN)).collect(),
            begun: Mutex::default(),
        }
    }

    /// Takes note of bytes that a reader gets. Fails with `Corrupt` if they complete content that
    /// has another digest.
    pub(super) fn passed(&self, number: u32, blob: &Blob, offset: u64, bytes: &[u8]) -> Result<()> {
        let Some(known) = self.known.get(number as usize) else {
            return Ok(());
        };
        let end = offset.saturating_add(bytes.len() as u64);
        match known.load(Ordering::Relaxed) {
            SOUND => return Ok(()),
            // the reader may have been overtaken by the one that found it
            DAMAGED if end >= blob.len => {
                let digest = hex(&blob.digest);
                let what = format!("expected content with the SHA-1 {digest}, it has another");
                return Err(Error::corrupt(what));
            }
            _ => {}
        }
        let Some(mut state) = self.state(number, offset) else {
            return Ok(());
        };
        state.update(bytes);
        if end < blob.len {
            let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            begun.insert((number, end), state);
            return Ok(());
        }
        let compared = compare(&blob.digest, &state.finish());
        let found = if compared.is_ok() { SOUND } else { DAMAGED };
        known.store(found, Ordering::Relaxed);
        compared
    }

    /// Returns the state of the digest of all bytes before an offset, if it is known.
    fn state(&self, number: u32, offset: u64) -> Option<Sha1> {
        if offset == 0 {
            return Some(Sha1::default());
        }
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.states.get(&(number, offset)).cloned()
    }
}

/// Compares digests. `Corrupt` if they differ.
pub(crate) fn compare(expected: &Sha1Digest, found: &Sha1Digest) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (hex(expected), hex(found));
    Err(Error::corrupt(format!(
        "expected content with the SHA-1 {expected}, found {found}"
    )))
}

/// Returns a digest as text.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
