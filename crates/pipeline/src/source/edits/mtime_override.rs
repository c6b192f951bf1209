//! The content of a file whose modification time scanned changed in the tree.
//!
//! Enters content; leaves the same content with another modification time. **Invariant:** a file
//! that changed after the scan still differs from its time in the tree.

use sinterfs_model::{Extent, FileContent, Result, Time};

/// Content that reports another modification time.
pub(in crate::source) struct MtimeOverride {
    pub(in crate::source) inner: Box<dyn FileContent>,
    /// The time at the scan.
    pub(in crate::source) scanned: Time,
    /// The time in the tree.
    pub(in crate::source) reported: Time,
}

impl FileContent for MtimeOverride {
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }

    fn modified(&self) -> Result<Option<Time>> {
        let modified = self.inner.modified()?;
        Ok(modified.map(|time| {
            if time == self.scanned {
                self.reported
            } else {
                time
            }
        }))
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        self.inner.extents()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.inner.read_at(offset, buf)
    }
}
