//! A file whose bytes are computed when they are read.

use std::ops::Range;

use crate::error::Result;

/// A file that is computed when it is read; may be read by many threads at once.
pub trait Backing: Send + Sync {
    /// Returns the length in bytes.
    fn size(&self) -> u64;

    /// Returns the ranges of metadata, which are worth reading ahead since the kernel reads them
    /// page by page.
    fn metadata(&self) -> Vec<Range<u64>>;

    /// Fills the buffer with the bytes from `offset` on; the whole range is inside the file.
    fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<()>;
}
