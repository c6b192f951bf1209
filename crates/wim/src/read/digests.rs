//! Compares content with its SHA-1 while it is read.
//!
//! In: bytes of blobs as readers get them. Out: an error for content that is another one.
//!
//! **Invariant:** each blob is compared once. Memory is bounded: of blobs that are read in order in
//! parts, `KEPT` are followed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use sinterfs_block::checksum::{Sha1, Sha1Digest};
use sinterfs_model::{Error, Result};

use super::blobs::Blob;

/// How many blobs are followed at once.
const KEPT: usize = 1024;

/// Which blobs were compared, and those that are being read.
#[derive(Debug, Default)]
pub(crate) struct DigestChecks {
    done: Vec<AtomicBool>,
    /// Of each blob that was read from its start: the next offset, and the state of its digest.
    begun: Mutex<HashMap<u32, (u64, Sha1)>>,
}

impl DigestChecks {
    /// Makes the checks of a number of blobs.
    pub(super) fn new(blobs: usize) -> Self {
        Self {
            done: (0..blobs).map(|_| AtomicBool::new(false)).collect(),
            begun: Mutex::default(),
        }
    }

    /// Takes note of bytes that a reader gets. Fails with `Corrupt` if they complete content that
    /// has another digest.
    pub(super) fn passed(&self, number: u32, blob: &Blob, offset: u64, bytes: &[u8]) -> Result<()> {
        let Some(done) = self.done.get(number as usize) else {
            return Ok(());
        };
        if done.load(Ordering::Relaxed) {
            return Ok(());
        }
        let end = offset.saturating_add(bytes.len() as u64);
        let Some(mut state) = self.state(number, offset) else {
            return Ok(());
        };
        state.update(bytes);
        if end < blob.len {
            let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            if begun.len() < KEPT {
                begun.insert(number, (end, state));
            }
            return Ok(());
        }
        compare(&blob.digest, &state.finish())?;
        done.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Takes the state of the digest of all bytes before an offset, if it is known.
    fn state(&self, number: u32, offset: u64) -> Option<Sha1> {
        if offset == 0 {
            return Some(Sha1::default());
        }
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, _) = begun.get(&number)?;
        if *next != offset {
            return None;
        }
        begun.remove(&number).map(|(_, state)| state)
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
