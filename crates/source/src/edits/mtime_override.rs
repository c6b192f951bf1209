//! The content of a file of which something else is said than the source says.
//!
//! Enters content; leaves the same content with another modification time, or with another way to
//! store it. **Invariant:** a file that changed after the scan still differs from its time in
//! the tree.

use sinterfs_model::{Category, Extent, FileContent, FileLayout, Result, StoredRange, Time};

use super::actions::HowStored;

/// Content that reports another modification time.
pub(crate) struct MtimeOverride {
    pub(crate) inner: Box<dyn FileContent>,
    /// The time at the scan.
    pub(crate) scanned: Time,
    /// The time in the tree.
    pub(crate) reported: Time,
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

    fn stored(&self) -> Option<Vec<StoredRange>> {
        self.inner.stored()
    }

    fn category(&self) -> Option<Category> {
        self.inner.category()
    }

    fn layout(&self) -> FileLayout {
        self.inner.layout()
    }
}

/// Content that is stored in a special way.
pub(super) struct ContentStoredApart {
    pub(super) content: Box<dyn FileContent>,
    pub(super) how: HowStored,
}

impl FileContent for ContentStoredApart {
    fn len(&self) -> Result<u64> {
        self.content.len()
    }

    fn modified(&self) -> Result<Option<Time>> {
        self.content.modified()
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        self.content.extents()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.content.read_at(offset, buf)
    }

    fn stored(&self) -> Option<Vec<StoredRange>> {
        self.content.stored()
    }

    fn category(&self) -> Option<Category> {
        if self.how.is_uncompressed {
            Some(Category::Incompressible)
        } else {
            self.content.category()
        }
    }

    fn layout(&self) -> FileLayout {
        self.how.layout
    }
}
