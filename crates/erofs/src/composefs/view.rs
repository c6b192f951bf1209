//! The view that overlayfs gives of a composefs image and a store of objects.
//!
//! In: an opened image and a store. Out: `Composefs`, which shows the content of objects; no
//! whiteouts (devices 0:0), which hide the store's own directories; and none of overlayfs'
//! attributes (`trusted.overlay.*`) but those that were escaped for it, under their true names.
//! Attributes `user.overlay.*` are the files' own: overlayfs of root does not use them.
//!
//! **Invariant:** an object with another length than its file is refused. With verification, so is
//! one whose fs-verity digest is not the one that the image names: all of it is hashed before the
//! first byte of it is shown, once for each file. (What changes an object later is for the kernel's
//! fs-verity.)

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use sinterfs_block::ReadAt;
use sinterfs_block::verity::{VerityDigest, hex, verity_of};
use sinterfs_model::{
    Cursor, Dirent, Error, Extent, ExtentSource, FileType, Image, Ino, Inode, Rdev, Result, Xattrs,
};

use crate::overlay_attributes::{ESCAPED, TRUSTED, digest, redirect};
use crate::read::Erofs;

/// A store of the objects that a composefs image refers to.
pub trait Objects: Send + Sync {
    /// Opens an object by its path in the store: `ab/cdef...`.
    fn open(&self, path: &[u8]) -> Result<Arc<dyn ReadAt>>;
}

/// A composefs image with its objects. Threads may read it concurrently.
pub struct Composefs {
    image: Arc<Erofs>,
    objects: Arc<dyn Objects>,
    /// The files whose objects were verified; `None` without verification.
    verified: Option<Mutex<HashSet<Ino>>>,
    /// Whether an object of which the image names no digest is refused.
    all_named: bool,
}

/// An object that an image names.
struct Object {
    path: Vec<u8>,
    digest: Option<VerityDigest>,
}

impl Composefs {
    /// Puts a store beside an image. With `verify` objects are hashed when they are first read.
    pub fn new(image: Arc<Erofs>, objects: Arc<dyn Objects>, verify: bool) -> Self {
        Self {
            image,
            objects,
            verified: verify.then(Mutex::default),
            all_named: false,
        }
    }

    /// Refuses objects of which the image names no digest, and hashes all others.
    #[must_use]
    pub fn all_named(mut self) -> Self {
        self.verified.get_or_insert_default();
        self.all_named = true;
        self
    }

    /// Returns the inode of a file and the object that holds its content; `None` for a file that
    /// has its own.
    fn object(&self, ino: Ino) -> Result<(Inode, Option<Object>)> {
        let inode = self.image.inode(ino)?;
        let own = inode.kind != FileType::File || inode.size == 0 || inode.allocated > 0;
        if own {
            return Ok((inode, None));
        }
        let xattrs = self.image.xattrs(ino)?;
        let digest = digest(&xattrs);
        Ok((inode, redirect(&xattrs).map(|path| Object { path, digest })))
    }

    /// Returns the path of the object that holds a file's content, and the digest that the image
    /// names; `None` for a file that has its own.
    pub fn object_of(&self, ino: Ino) -> Result<Option<(Vec<u8>, Option<VerityDigest>)>> {
        let (_, object) = self.object(ino)?;
        Ok(object.map(|object| (object.path, object.digest)))
    }

    /// Opens an object and verifies that it is the one that the image names.
    fn open(&self, inode: &Inode, object: &Object) -> Result<Arc<dyn ReadAt>> {
        let opened = self.objects.open(&object.path)?;
        let name = || String::from_utf8_lossy(&object.path).into_owned();
        if opened.len() != inode.size {
            return Err(Error::corrupt(format!(
                "object {} has {} bytes, but the file {}",
                name(),
                opened.len(),
                inode.size
            )));
        }
        let (Some(verified), Some(expected)) = (&self.verified, object.digest) else {
            if self.all_named {
                let what = format!("the image names no digest of object {}", name());
                return Err(Error::corrupt(what));
            }
            return Ok(opened);
        };
        let known = || verified.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(&inode.ino) {
            return Ok(opened);
        }
        let found = verity_of(&*opened)?;
        if found != expected {
            return Err(Error::corrupt(format!(
                "object {} has the digest {}, but the image names {}",
                name(),
                hex(&found),
                hex(&expected)
            )));
        }
        known().insert(inode.ino);
        Ok(opened)
    }

    fn is_whiteout(&self, kind: FileType, ino: Ino) -> Result<bool> {
        Ok(kind == FileType::CharDevice && self.image.inode(ino)?.rdev == Rdev::default())
    }
}

impl Image for Composefs {
    sinterfs_model::delegate_image!(image: info, parent, read_link);

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let (mut inode, object) = self.object(ino)?;
        if object.is_some() {
            inode.allocated = inode.size;
        }
        Ok(inode)
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.image.read_dir(dir, from, &mut |entry| {
            // one that cannot be read hides no other name, and reading it is an error
            if matches!(self.is_whiteout(entry.kind, entry.ino), Ok(true)) {
                ControlFlow::Continue(())
            } else {
                visit(entry)
            }
        })
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let Some(ino) = self.image.lookup(dir, name)? else {
            return Ok(None);
        };
        let inode = self.image.inode(ino);
        let is_whiteout = inode
            .is_ok_and(|inode| inode.kind == FileType::CharDevice && inode.rdev == Rdev::default());
        Ok((!is_whiteout).then_some(ino))
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let (inode, Some(_)) = self.object(ino)? else {
            return self.image.extents(ino, from, visit);
        };
        if from < inode.size {
            // objects have no order: the files' own is as good as any
            let _ = visit(Extent {
                offset: 0,
                len: inode.size,
                source: ExtentSource::Block {
                    block: ino.0,
                    offset: 0,
                },
            });
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let (inode, Some(object)) = self.object(ino)? else {
            return self.image.read_at(ino, offset, buf);
        };
        let object = self.open(&inode, &object)?;
        let left = inode.size.saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let part = buf.split_at_mut(len).0;
        if !part.is_empty() {
            object.read_at(offset, part)?;
        }
        Ok(len)
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let all = self.image.xattrs(ino)?.into_iter();
        let mut shown: Xattrs = all
            .filter_map(|(name, value)| Some((shown_name(name)?, value)))
            .collect();
        shown.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(shown)
    }
}

/// Returns the name that overlayfs shows of an attribute; `None` for its own.
fn shown_name(name: Vec<u8>) -> Option<Vec<u8>> {
    let Some(rest) = name.strip_prefix(TRUSTED) else {
        return Some(name);
    };
    let rest = rest.strip_prefix(ESCAPED)?;
    Some([TRUSTED, rest].concat())
}

impl std::fmt::Debug for Composefs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Composefs")
            .field("image", &self.image)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escaped_names_are_shown() {
        let shown = |name: &str| {
            let shown = shown_name(name.as_bytes().to_vec());
            shown.map(|name| String::from_utf8_lossy(&name).into_owned())
        };
        assert_eq!(shown("user.x").as_deref(), Some("user.x"));
        assert_eq!(shown("trusted.overlay.redirect"), None);
        assert_eq!(
            shown("trusted.overlay.overlay.opaque").as_deref(),
            Some("trusted.overlay.opaque")
        );
        for own in ["opaque", "origin", "metacopy", "overlay.x", "whiteouts", ""] {
            let own = format!("user.overlay.{own}");
            assert_eq!(shown(&own), Some(own));
        }
    }
}
