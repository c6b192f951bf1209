//! An image of which some extended attributes are not shown.
//!
//! Enters an image and a filter; leaves an image. **Invariant:** everything else is answered by the
//! image.

use sinterfs_model::{Image, Ino, Result, Xattrs};
use sinterfs_source::XattrFilter;

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
    sinterfs_model::delegate_image!(
        image: info, inode, read_dir, lookup, parent, read_link, extents, read_at, release
    );

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let mut xattrs = self.image.xattrs(ino)?;
        xattrs.retain(|(name, _)| self.filter.keeps(name));
        Ok(xattrs)
    }
}
