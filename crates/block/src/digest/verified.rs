//! A source that hands out only the bytes that digests were made of.
//!
//! In: a source that nobody vouches for, digests that somebody does. Out: bytes, or `Corrupt`.
//!
//! **Invariant:** what is handed out is what was hashed: leaves are read into memory of ours,
//! hashed there, and given out from there. Nothing is remembered of a leaf but its bytes: a file
//! that changes after a leaf was found right is read and hashed again, or not read at all.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use parking_lot::Mutex as Lock;
use sinterfs_model::{Error, Kind, Observer, Result, Stage, Tally};

use super::digests::Digests;
use crate::source::check_range;
use crate::{Bytes, ReadAt};

/// How many leaves are kept for small reads that follow each other.
const KEPT: usize = 64;

/// Reads a source of which a range is covered by digests; nothing else of it can be read.
///
/// Memory: the digests, and 64 leaves.
pub struct Verified {
    source: Arc<dyn ReadAt>,
    /// Where the covered bytes begin in the source.
    start: u64,
    digests: Digests,
    kept: Vec<Lock<Option<(u64, Bytes)>>>,
}

impl Verified {
    /// Takes a source whose bytes from `start` on are to be those of the digests. `Corrupt` if it
    /// ends before they do.
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

    /// Returns where in the source the covered bytes begin.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Reads all leaves with so many threads (above 0) and gives the errors of those that are not
    /// what they were, in their order. `Io` if reading fails.
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
        let wrong = Mutex::new(Vec::new());
        sinterfs_workers::run(threads, "verify", || {
            while !observer.cancelled() {
                let at = next.fetch_add(step, Ordering::Relaxed);
                if at >= covered {
                    break;
                }
                let end = covered.min(at.saturating_add(step));
                let found = self.wrong_leaves(at..end);
                if let Ok(mut wrong) = wrong.lock() {
                    wrong.push((at, found));
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
        if observer.cancelled() {
            return Err(Error::new(Kind::Cancelled, "the check was stopped"));
        }
        let mut wrong = wrong.into_inner().unwrap_or_default();
        wrong.sort_by_key(|(at, _)| *at);
        let found: Result<Vec<_>> = wrong.into_iter().map(|(_, found)| found).collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// Lists what is wrong with whole leaves; the range begins at one.
    fn wrong_leaves(&self, range: Range<u64>) -> Result<Vec<Error>> {
        let size = self.digests.leaf_size();
        let mut wrong = Vec::new();
        for leaf in range.start / size..range.end.div_ceil(size) {
            match self.leaf(leaf) {
                Ok(_) => {}
                Err(error) if error.kind() == Kind::Corrupt => wrong.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(wrong)
    }

    /// Returns the covered bytes of a leaf.
    fn range(&self, leaf: u64) -> Range<u64> {
        let start = leaf.saturating_mul(self.digests.leaf_size());
        let end = start.saturating_add(self.digests.leaf_size());
        start..end.min(self.digests.covered())
    }

    /// Reads a leaf and compares its hash.
    fn leaf(&self, leaf: u64) -> Result<Bytes> {
        let Range { start, end } = self.range(leaf);
        let at = self.start.saturating_add(start);
        let bytes = self.source.read(at, end.saturating_sub(start))?;
        if self.digests.fits(leaf, &bytes) {
            Ok(bytes)
        } else {
            Err(self.wrong(leaf))
        }
    }

    /// Reads a leaf, or gives it out again.
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
                let leaves = now.chunks(usize::try_from(size).unwrap_or(usize::MAX));
                for (number, bytes) in (leaf..).zip(leaves) {
                    if !self.digests.fits(number, bytes) {
                        return Err(self.wrong(number));
                    }
                }
                whole
            } else {
                let bytes = self.kept_leaf(leaf)?;
                let skip = usize::try_from(at.saturating_sub(range.start)).unwrap_or(usize::MAX);
                let bytes = bytes.get(skip..).unwrap_or_default();
                let count = bytes.len().min(buf.len());
                if count == 0 {
                    return Err(Error::corrupt("a leaf that ends before it should"));
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

    /// Returns the bytes of whole leaves that begin here and are wanted; 0 if there are none, or if
    /// one alone is better kept.
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
    fn wrong(&self, leaf: u64) -> Error {
        let Range { start, end } = self.range(leaf);
        let at = self.start.saturating_add(start);
        Error::corrupt(format!(
            "the {} bytes at {at:#x} are not those that the digest was made of",
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
            let what = format!("the bytes at {offset:#x}, before the image, are in no digest");
            return Err(Error::corrupt(what));
        };
        let filled = self.fill(at, buf);
        if filled.is_err() {
            // bytes that were found wrong are nobody's
            buf.fill(0);
        }
        filled
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
