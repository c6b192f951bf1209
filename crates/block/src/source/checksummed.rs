//! A range of a source whose bytes must not change after they were read first.
//!
//! In: a window. Out: its bytes as they were at the first reading, or `Corrupt`.
//!
//! **Invariant:** the bytes that are returned are those that were hashed: a leaf is read into
//! private memory, compared with its checksum there, and returned from there. Memory: 8 bytes a
//! leaf, and one leaf for each reading thread.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{Error, Result};

use super::{ReadAt, Window, check_range};
use crate::checksum::xxh3_64;

/// Bytes that share a checksum. Random reads of 4 KiB take 11 µs with 16 KiB, 39 µs with 64 KiB.
const LEAF: usize = 16 << 10;

/// Bytes of one read while the checksums are made; whole leaves.
const STEP: usize = 16 * LEAF;

/// Reads a window whose leaves have checksums in memory.
pub struct ChecksummedWindow {
    window: Window,
    sums: Box<[u64]>,
    /// Above 0 and unique in this process.
    id: u64,
}

/// The leaf that a thread compared last.
#[derive(Default)]
struct Compared {
    /// The window's id; 0 for none.
    id: u64,
    leaf: u64,
    bytes: Vec<u8>,
}

thread_local! {
    /// Kept for sequences of small reads.
    static COMPARED: Cell<Compared> = Cell::default();
}

impl ChecksummedWindow {
    /// Reads the whole window once to compute the checksums, and passes each part to `observe`, in
    /// order: later reads are compared with what was observed.
    pub fn new(window: Window, mut observe: impl FnMut(&[u8])) -> Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(1);
        let len = window.len();
        let mut sums = Vec::new();
        let mut buf = crate::codec::zeroed(len.min(STEP as u64))?;
        let mut at = 0;
        while at < len {
            let count = usize::try_from(len - at).map_or(buf.len(), |left| left.min(buf.len()));
            let part = buf.split_at_mut(count).0;
            window.read_at(at, part)?;
            observe(part);
            sums.extend(part.chunks(LEAF).map(xxh3_64));
            at += count as u64;
        }
        Ok(Self {
            window,
            sums: sums.into(),
            id: MADE.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Returns the bytes of memory that the checksums take.
    pub fn memory(&self) -> u64 {
        size_of_val(&*self.sums) as u64
    }

    /// Returns a leaf's range of the window.
    fn range(&self, leaf: u64) -> Range<u64> {
        let start = leaf.saturating_mul(LEAF as u64);
        start..start.saturating_add(LEAF as u64).min(self.window.len())
    }

    /// Fills the buffer from `at` on: whole leaves directly, others from the leaf that the thread
    /// keeps.
    fn fill(&self, mut at: u64, mut buf: &mut [u8]) -> Result<()> {
        while !buf.is_empty() {
            let leaf = at / LEAF as u64;
            let whole = self.whole_leaves(at, buf.len());
            let count = if whole > 0 {
                let now = buf.split_at_mut(whole).0;
                self.window.read_at(at, now)?;
                for (leaf, bytes) in (leaf..).zip(now.chunks(LEAF)) {
                    self.compare(leaf, bytes)?;
                }
                whole
            } else {
                self.copy_from_leaf(leaf, at, buf)?
            };
            buf = std::mem::take(&mut buf).split_at_mut(count).1;
            at = at.saturating_add(count as u64);
        }
        Ok(())
    }

    /// Returns the number of bytes of whole leaves that start at `at` within `wanted` bytes.
    fn whole_leaves(&self, at: u64, wanted: usize) -> usize {
        if !at.is_multiple_of(LEAF as u64) {
            return 0;
        }
        // the last leaf may be short
        if wanted as u64 == self.window.len().saturating_sub(at) {
            return wanted;
        }
        wanted - wanted % LEAF
    }

    /// Copies the part of one leaf that the buffer needs; returns its length, which is above 0.
    fn copy_from_leaf(&self, leaf: u64, at: u64, buf: &mut [u8]) -> Result<usize> {
        // taken, since the source may itself be read through such a window
        let mut compared = COMPARED.take();
        let range = self.range(leaf);
        if (compared.id, compared.leaf) != (self.id, leaf) {
            compared.id = 0;
            let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
            compared.bytes.resize(len, 0);
            self.window.read_at(range.start, &mut compared.bytes)?;
            self.compare(leaf, &compared.bytes)?;
            (compared.id, compared.leaf) = (self.id, leaf);
        }
        let skip = usize::try_from(at.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let bytes = compared.bytes.get(skip..).unwrap_or_default();
        let count = bytes.len().min(buf.len());
        let (now, bytes) = (buf.split_at_mut(count).0, bytes.split_at(count).0);
        now.copy_from_slice(bytes);
        COMPARED.set(compared);
        if count == 0 {
            return Err(Error::corrupt("a leaf that is shorter than expected"));
        }
        Ok(count)
    }

    /// Fails with `Corrupt` unless these are a leaf's bytes.
    fn compare(&self, leaf: u64, bytes: &[u8]) -> Result<()> {
        let expected = usize::try_from(leaf).ok();
        let expected = expected.and_then(|leaf| self.sums.get(leaf));
        if expected == Some(&xxh3_64(bytes)) {
            return Ok(());
        }
        Err(self.changed(leaf))
    }

    #[cold]
    fn changed(&self, leaf: u64) -> Error {
        let Range { start, end } = self.range(leaf);
        let at = self.window.start().saturating_add(start);
        let len = end.saturating_sub(start);
        Error::corrupt(format!(
            "the {len} stored bytes at {at:#x} changed after they were first read"
        ))
    }
}

impl ReadAt for ChecksummedWindow {
    fn len(&self) -> u64 {
        self.window.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.window.len(), offset, buf.len() as u64)?;
        let filled = self.fill(offset, buf);
        if filled.is_err() {
            // the buffer may hold changed bytes
            buf.fill(0);
        }
        filled
    }

    fn will_need(&self, ranges: &[Range<u64>]) {
        self.window.will_need(ranges);
    }

    fn forget(&self, range: &Range<u64>) -> bool {
        self.window.forget(range)
    }
}

impl fmt::Debug for ChecksummedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChecksummedWindow")
            .field("window", &self.window)
            .field("leaves", &self.sums.len())
            .finish_non_exhaustive()
    }
}
