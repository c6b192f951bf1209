//! An image of which some extended attributes are not shown.
//!
//! Enters an image and a filter; leaves an image. **Invariant:** everything else is answered by the
//! image.

use std::ops::ControlFlow;

use sinterfs_model::{Cursor, Dirent, Extent, Image, ImageInfo, Ino, Inode, Result, Xattrs};
use sinterfs_pipeline::source::XattrFilter;

/// An image with fewer extended attributes.
pub struct FilteredImage<'a> {
    image: &'a dyn Image,
    filter: &'a XattrFilter,
}

impl std::fmt::Debug for FilteredImage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilteredImage")
            .field("filter", self.filter)
            .finish_non_exhaustive()
    }
}

impl<'a> FilteredImage<'a> {
    /// Wraps an image.
    pub fn new(image: &'a dyn Image, filter: &'a XattrFilter) -> Self {
        Self { image, filter }
    }
}

impl Image for FilteredImage<'_> {
    fn info(&self) -> &ImageInfo {
        self.image.info()
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        self.image.inode(ino)
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.image.read_dir(dir, from, visit)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        self.image.lookup(dir, name)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        self.image.parent(dir)
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        self.image.read_link(ino)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        self.image.extents(ino, from, visit)
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.image.read_at(ino, offset, buf)
    }

    fn release(&self, block: u64) {
        self.image.release(block);
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let mut xattrs = self.image.xattrs(ino)?;
        xattrs.retain(|(name, _)| self.filter.keeps(name));
        Ok(xattrs)
    }
}
