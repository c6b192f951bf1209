//! A part of an image as an image: what a directory holds, without some types of files.
//!
//! Enters an image and what to leave out; leaves an image. **Invariant:** inodes keep their numbers
//! and attributes; only listings and the root are others, and a name that is looked up is found.
//! Memory: an inode number for each directory that counts as empty.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sinterfs_model::{Cursor, Dirent, Error, FileType, Image, ImageInfo, Ino, Result};

use crate::resolve::{Follow, resolve};
use crate::walk::{Visit, WalkStep, walk};

/// Which part of an image is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartOptions {
    /// The directory that becomes the root; empty for the image's root.
    pub root: Vec<u8>,
    /// The types of files that are left out; directories cannot be.
    pub without: Vec<FileType>,
    /// Leaves out directories that hold nothing that is shown.
    pub without_empty: bool,
}

/// A part of an image.
pub struct PartialImage<'a> {
    image: &'a dyn Image,
    info: ImageInfo,
    without: Vec<FileType>,
    empty: HashSet<Ino>,
}

impl std::fmt::Debug for PartialImage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartialImage")
            .field("without", &self.without)
            .finish_non_exhaustive()
    }
}

impl<'a> PartialImage<'a> {
    /// Wraps an image; lists all of it if empty directories are left out. `NotFound` if the root is
    /// missing or not a directory.
    pub fn new(image: &'a dyn Image, options: &PartOptions) -> Result<Self> {
        let mut info = image.info().clone();
        info.root = resolve(image, &options.root, Follow::Nothing)?;
        if image.inode(info.root)?.kind != FileType::Directory {
            let name = String::from_utf8_lossy(&options.root);
            return Err(Error::not_found(format!("{name}: not a directory")));
        }
        let mut without = options.without.clone();
        without.retain(|kind| *kind != FileType::Directory);
        let mut part = Self {
            image,
            info,
            without,
            empty: HashSet::new(),
        };
        if options.without_empty {
            part.empty = part.empty()?;
        }
        Ok(part)
    }

    /// Finds the directories that hold nothing that is shown.
    fn empty(&self) -> Result<HashSet<Ino>> {
        let mut empty = HashSet::new();
        // whether each directory on the way holds something
        let mut holds = vec![false];
        walk(self.image, self.info.root, &mut |visit| {
            match visit {
                Visit::Enter(entry) if entry.kind == FileType::Directory => holds.push(false),
                Visit::Enter(entry) => {
                    let shown = !self.without.contains(&entry.kind);
                    holds.last_mut().into_iter().for_each(|last| *last |= shown);
                }
                // what is below may be shown elsewhere, and listing it reports the error
                Visit::Broken(..) => {
                    holds.last_mut().into_iter().for_each(|last| *last = true);
                }
                Visit::Leave(entry) => {
                    let held = holds.pop().unwrap_or_default();
                    if !held {
                        empty.insert(entry.ino);
                    }
                    holds.last_mut().into_iter().for_each(|last| *last |= held);
                }
            }
            Ok(WalkStep::On)
        })?;
        Ok(empty)
    }

    fn shows(&self, ino: Ino, kind: FileType) -> bool {
        !self.without.contains(&kind) && !self.empty.contains(&ino)
    }
}

impl Image for PartialImage<'_> {
    sinterfs_model::delegate_image!(
        image: inode, lookup, read_link, extents, read_at, release, xattrs
    );

    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut shown = |entry: Dirent<'_>| {
            if self.shows(entry.ino, entry.kind) {
                visit(entry)
            } else {
                ControlFlow::Continue(())
            }
        };
        self.image.read_dir(dir, from, &mut shown)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        if dir == self.info.root {
            Ok(dir)
        } else {
            self.image.parent(dir)
        }
    }
}
