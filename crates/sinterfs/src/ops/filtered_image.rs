//! An image of which some extended attributes are not shown, and owners and permissions are others.
//!
//! Enters an image, a filter and changes; leaves an image. **Invariant:** everything else is
//! answered by the image.

use sinterfs_model::{Image, Ino, Inode, Result, Xattrs};
use sinterfs_source::{Transform, XattrFilter};

use crate::write::attributes::AttributeChanges;

/// An image with fewer extended attributes.
pub struct FilteredImage<'a> {
    image: &'a dyn Image,
    filter: &'a XattrFilter,
    changes: Transform,
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
        Self {
            image,
            filter,
            changes: Transform::default(),
        }
    }

    /// Changes owners and permissions.
    ///
    /// # Errors
    /// `Invalid` for changes that cannot be read.
    pub fn changed(self, changes: &AttributeChanges) -> Result<Self> {
        let changes = changes.transform()?;
        Ok(Self { changes, ..self })
    }
}

impl Image for FilteredImage<'_> {
    sinterfs_model::delegate_image!(
        image: info, read_dir, lookup, parent, read_link, extents, read_at, release
    );

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let mut inode = self.image.inode(ino)?;
        let is_root = ino == self.image.info().root;
        self.changes.change(&mut inode.meta, inode.kind, is_root)?;
        Ok(inode)
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let mut xattrs = self.image.xattrs(ino)?;
        xattrs.retain(|(name, _)| self.filter.keeps(name));
        Ok(xattrs)
    }
}
