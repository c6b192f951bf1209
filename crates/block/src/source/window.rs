//! A range of a source as a source: an image after a header, or in a partition.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use sinterfs_model::Result;

use super::{ReadAt, check_range};

/// Reads a range of another source; offset 0 is the start of the range.
#[derive(Clone)]
pub struct Window {
    source: Arc<dyn ReadAt>,
    start: u64,
    len: u64,
}

impl Window {
    /// Makes a window of `len` bytes from `start` on. Fails with `Corrupt` if the source is
    /// shorter.
    pub fn new(source: Arc<dyn ReadAt>, start: u64, len: u64) -> Result<Self> {
        check_range(source.len(), start, len)?;
        Ok(Self { source, start, len })
    }

    /// Makes a window from `start` to the end. Fails with `Corrupt` if the source is shorter.
    pub fn from(source: Arc<dyn ReadAt>, start: u64) -> Result<Self> {
        let len = source.len().saturating_sub(start);
        Self::new(source, start, len)
    }

    /// Makes a window of a part of this one. Fails with `Corrupt` if this one is shorter.
    pub fn part(&self, start: u64, len: u64) -> Result<Self> {
        check_range(self.len, start, len)?;
        Ok(Self {
            source: Arc::clone(&self.source),
            start: self.start + start,
            len,
        })
    }

    /// Returns a range of the window as one of the source.
    fn in_source(&self, range: &Range<u64>) -> Range<u64> {
        let inside = |at: u64| self.start + at.min(self.len);
        inside(range.start)..inside(range.end)
    }

    fn all_in_source(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        ranges.iter().map(|range| self.in_source(range)).collect()
    }

    /// Returns the offset of the window in the source, in bytes.
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl ReadAt for Window {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.len, offset, buf.len() as u64)?;
        // cannot overflow: the window is within the source, whose length is a u64
        self.source.read_at(self.start + offset, buf)
    }

    fn will_need(&self, ranges: &[Range<u64>]) {
        self.source.will_need(&self.all_in_source(ranges));
    }

    fn will_start(&self, ranges: &[Range<u64>]) {
        self.source.will_start(&self.all_in_source(ranges));
    }

    fn is_here(&self, range: &Range<u64>) -> bool {
        self.source.is_here(&self.in_source(range))
    }

    fn forget(&self, range: &Range<u64>) -> bool {
        self.source.forget(&self.in_source(range))
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("start", &self.start)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
