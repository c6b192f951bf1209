//! The content of a file that got another time in the tree.
//!
//! Enters content; leaves the same with another time of modification. **Invariant:** a file that changed after
//! the scan is still told from one that did not.

use sinterfs_model::{Extent, FileContent, Result, Time};

/// Content that says it is of another time than it is.
pub(in crate::source) struct MtimeOverride {
    pub(in crate::source) inner: Box<dyn FileContent>,
    /// The time at the scan.
    pub(in crate::source) was: Time,
    /// The time in the tree.
    pub(in crate::source) is: Time,
}

impl FileContent for MtimeOverride {
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }

    fn modified(&self) -> Result<Option<Time>> {
        let modified = self.inner.modified()?;
        Ok(modified.map(|time| if time == self.was { self.is } else { time }))
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        self.inner.extents()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.inner.read_at(offset, buf)
    }
}
