//! A source that returns only bytes that match digests.
//!
//! In: an untrusted source, trusted digests. Out: bytes, or `Corrupt`.
//!
//! **Invariant:** the bytes that are returned are those that were hashed: leaves are read into
//! private memory, hashed there, and returned from there. Nothing is kept of a leaf but its bytes:
//! after a change of the file a leaf is read and hashed again, or not read at all.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sinterfs_model::{Error, Kind, Observer, Result, Stage, Tally};

use super::digests::Digests;
use crate::locks::Mutex as Lock;
use crate::source::check_range;
use crate::{Bytes, ReadAt};

/// Number of leaves that are kept for sequences of small reads.
const KEPT: usize = 64;

/// Reads the range of a source that digests cover; the rest of it cannot be read.
///
/// Memory: the digests, and 64 leaves.
pub struct Verified {
    source: Arc<dyn ReadAt>,
    /// The offset of the covered bytes in the source.
    start: u64,
    digests: Digests,
    kept: Vec<Lock<Option<(u64, Bytes)>>>,
}

impl Verified {
    /// Makes a source of the bytes from `start` on. Fails with `Corrupt` if it is shorter than what
    /// the digests cover.
    pub fn new(source: Arc<dyn ReadAt>, start: u64, digests: Digests) -> Result<Self> {
        check_range(source.len(), start, digests.covered())?;
        Ok(Self {
            source,
            start,
            digests,
            kept: std::iter::repeat_with(Lock::default).take(KEPT).collect(),
        })
    }

    /// Returns the digests.
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Returns the offset of the covered bytes in the source.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Reads all leaves with `threads` threads (above 0) and returns an error for each that does
    /// not match, in their order. Fails with `Io` if reading fails.
    pub fn check(&self, threads: usize, observer: &dyn Observer) -> Result<Vec<Error>> {
        let covered = self.digests.covered();
        let all = Tally {
            items: 0,
            bytes: covered,
            stored: covered,
        };
        observer.expect(Stage::Verify, all);
        let step = self.digests.leaf_size().max(1 << 20);
        let next = AtomicU64::new(0);
        let mismatches = Mutex::new(Vec::new());
        sinterfs_workers::run(threads, "verify", || {
            while !observer.cancelled() {
                let at = next.fetch_add(step, Ordering::Relaxed);
                if at >= covered {
                    break;
                }
                let end = covered.min(at.saturating_add(step));
                let found = self.mismatches(at..end);
                if let Ok(mut all) = mismatches.lock() {
                    all.push((at, found));
                }
                let bytes = end - at;
                let done = Tally {
                    items: 0,
                    bytes,
                    stored: bytes,
                };
                observer.advance(Stage::Verify, done);
            }
        });
        observer.check_cancelled()?;
        let mut all = mismatches.into_inner().unwrap_or_default();
        all.sort_by_key(|(at, _)| *at);
        let found: Result<Vec<_>> = all.into_iter().map(|(_, found)| found).collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// Returns an error for each leaf of a range that does not match; the range starts at a leaf.
    fn mismatches(&self, range: Range<u64>) -> Result<Vec<Error>> {
        let size = self.digests.leaf_size();
        let mut found = Vec::new();
        for leaf in range.start / size..range.end.div_ceil(size) {
            match self.leaf(leaf) {
                Ok(_) => {}
                Err(error) if error.kind() == Kind::Corrupt => found.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Returns the covered bytes of a leaf.
    fn range(&self, leaf: u64) -> Range<u64> {
        let start = leaf.saturating_mul(self.digests.leaf_size());
        let end = start.saturating_add(self.digests.leaf_size());
        start..end.min(self.digests.covered())
    }

    /// Reads a leaf and compares its hash; wrong bytes from a server are requested once more.
    fn leaf(&self, leaf: u64) -> Result<Bytes> {
        let Range { start, end } = self.range(leaf);
        let at = self.start.saturating_add(start);
        let len = end.saturating_sub(start);
        let bytes = self.source.read(at, len)?;
        if self.digests.matches(leaf, &bytes) {
            return Ok(bytes);
        }
        if self.source.forget(&(at..at.saturating_add(len))) {
            let bytes = self.source.read(at, len)?;
            if self.digests.matches(leaf, &bytes) {
                return Ok(bytes);
            }
        }
        Err(self.mismatch(leaf))
    }

    /// Returns a leaf, read now or kept.
    fn kept_leaf(&self, leaf: u64) -> Result<Bytes> {
        let slot = usize::try_from(leaf % KEPT as u64).ok();
        let Some(slot) = slot.and_then(|slot| self.kept.get(slot)) else {
            return self.leaf(leaf);
        };
        if let Some((number, bytes)) = &*slot.lock()
            && *number == leaf
        {
            return Ok(bytes.clone());
        }
        let bytes = self.leaf(leaf)?;
        *slot.lock() = Some((leaf, bytes.clone()));
        Ok(bytes)
    }

    /// Fills a buffer with covered bytes.
    fn fill(&self, mut at: u64, mut buf: &mut [u8]) -> Result<()> {
        let size = self.digests.leaf_size();
        while !buf.is_empty() {
            let leaf = at / size;
            let range = self.range(leaf);
            let whole = self.whole_leaves(at, buf.len());
            let now = if whole > 0 {
                let (now, rest) = std::mem::take(&mut buf).split_at_mut(whole);
                buf = rest;
                self.source.read_at(self.start.saturating_add(at), now)?;
                let leaves = now.chunks_mut(usize::try_from(size).unwrap_or(usize::MAX));
                for (number, bytes) in (leaf..).zip(leaves) {
                    if !self.digests.matches(number, bytes) {
                        let again = self.leaf(number)?;
                        bytes.copy_from_slice(&again);
                    }
                }
                whole
            } else {
                let bytes = self.kept_leaf(leaf)?;
                let skip = usize::try_from(at.saturating_sub(range.start)).unwrap_or(usize::MAX);
                let bytes = bytes.get(skip..).unwrap_or_default();
                let count = bytes.len().min(buf.len());
                if count == 0 {
                    return Err(Error::corrupt("a leaf that is shorter than expected"));
                }
                let (now, rest) = std::mem::take(&mut buf).split_at_mut(count);
                buf = rest;
                now.copy_from_slice(bytes.split_at(count).0);
                count
            };
            at = at.saturating_add(now as u64);
        }
        Ok(())
    }

    /// Returns the number of bytes of whole leaves that start at `at` within `wanted` bytes.
    fn whole_leaves(&self, at: u64, wanted: usize) -> usize {
        let size = self.digests.leaf_size();
        if !at.is_multiple_of(size) {
            return 0;
        }
        let (wanted, left) = (wanted as u64, self.digests.covered().saturating_sub(at));
        let bytes = if wanted == left {
            wanted
        } else {
            wanted - wanted % size
        };
        usize::try_from(bytes).unwrap_or(0)
    }

    #[cold]
    fn mismatch(&self, leaf: u64) -> Error {
        let Range { start, end } = self.range(leaf);
        let at = self.start.saturating_add(start);
        Error::corrupt(format!(
            "the {} bytes at {at:#x} do not match their digest",
            end.saturating_sub(start)
        ))
    }
}

impl ReadAt for Verified {
    fn len(&self) -> u64 {
        self.start.saturating_add(self.digests.covered())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.len(), offset, buf.len() as u64)?;
        let Some(at) = offset.checked_sub(self.start) else {
            let what = format!("no digest covers the bytes at {offset:#x}, before the image");
            return Err(Error::corrupt(what));
        };
        // leaves that are not read whole are read one by one
        let range = offset..offset.saturating_add(buf.len() as u64);
        self.will_need(std::slice::from_ref(&range));
        let filled = self.fill(at, buf);
        if filled.is_err() {
            // the buffer may hold bytes that do not match
            buf.fill(0);
        }
        filled
    }

    fn will_need(&self, ranges: &[Range<u64>]) {
        self.source.will_need(ranges);
    }

    fn will_start(&self, ranges: &[Range<u64>]) {
        self.source.will_start(ranges);
    }

    fn is_here(&self, range: &Range<u64>) -> bool {
        self.source.is_here(range)
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified")
            .field("start", &self.start)
            .field("covered", &self.digests.covered())
            .finish_non_exhaustive()
    }
}
