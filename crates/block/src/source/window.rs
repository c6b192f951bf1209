//! A part of a source as a source: an image behind a header, or in a partition.

use std::fmt;
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
    /// Takes `len` bytes of a source from `start` on. `Corrupt` if the source ends before.
    pub fn new(source: Arc<dyn ReadAt>, start: u64, len: u64) -> Result<Self> {
        check_range(source.len(), start, len)?;
        Ok(Self { source, start, len })
    }

    /// Takes everything of a source from `start` on. `Corrupt` if the source ends before.
    pub fn from(source: Arc<dyn ReadAt>, start: u64) -> Result<Self> {
        let len = source.len().saturating_sub(start);
        Self::new(source, start, len)
    }

    /// Takes a part of the window. `Corrupt` if the window ends before.
    pub fn part(&self, start: u64, len: u64) -> Result<Self> {
        check_range(self.len, start, len)?;
        Ok(Self {
            source: Arc::clone(&self.source),
            start: self.start + start,
            len,
        })
    }

    /// Returns where in the source the window starts, in bytes.
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
        // in range: the window lies within the source, whose length is a u64
        self.source.read_at(self.start + offset, buf)
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
