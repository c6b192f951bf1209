//! The content of a file of which something else is said than the source says.
//!
//! Enters content; leaves the same content with another modification time, or marked as
//! incompressible. **Invariant:** a file that changed after the scan still differs from its time in
//! the tree.

use sinterfs_model::{Category, Extent, FileContent, Result, Time};

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

    fn category(&self) -> Option<Category> {
        self.inner.category()
    }
}

/// Content that is stored uncompressed.
pub(in crate::source) struct Uncompressed(pub(in crate::source) Box<dyn FileContent>);

impl FileContent for Uncompressed {
    fn len(&self) -> Result<u64> {
        self.0.len()
    }

    fn modified(&self) -> Result<Option<Time>> {
        self.0.modified()
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        self.0.extents()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn category(&self) -> Option<Category> {
        Some(Category::Incompressible)
    }
}
