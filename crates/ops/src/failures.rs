//! An image that remembers which of its inodes could not be read.
//!
//! Enters an image and questions; leaves the image's answers, and the paths of the inodes for which
//! an answer was an error. **Invariant:** answers are the image's own; each inode is remembered
//! once, and no more than [`MAX_INODES`] of them; only errors take a lock.

use std::collections::{HashMap, HashSet};
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sinterfs_model::{Cursor, Dirent, Error, Extent, Image, Ino, Inode, Kind, Result, Xattrs};

use crate::walk::{Visit, WalkStep, walk};

/// The most inodes that are remembered.
const MAX_INODES: usize = 1 << 20;

/// An inode that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedInode {
    /// The path from the root without a slash in front; of several names the first of a walk.
    /// Empty for the root, `None` if no directory that can be listed has the inode.
    pub path: Option<Vec<u8>>,
    /// Its number.
    pub ino: Ino,
    /// The first error.
    pub why: String,
}

/// An image, and which of its inodes could not be read.
pub struct ReadFailures {
    image: Arc<dyn Image>,
    found: Mutex<FailureList>,
}

#[derive(Default)]
struct FailureList {
    all: HashSet<Ino>,
    /// Those that were not returned yet.
    new: Vec<(Ino, String)>,
}

impl std::fmt::Debug for ReadFailures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadFailures")
            .field("inodes", &self.found().all.len())
            .finish_non_exhaustive()
    }
}

impl ReadFailures {
    /// Watches an image.
    pub fn new(image: Arc<dyn Image>) -> Self {
        Self {
            image,
            found: Mutex::default(),
        }
    }

    /// Returns the inodes that could not be read and were not returned before, in the order in
    /// which that was found. Walks the image if there are any.
    pub fn take(&self) -> Vec<FailedInode> {
        let new = take(&mut self.found().new);
        if new.is_empty() {
            return Vec::new();
        }
        let root = self.image.info().root;
        let mut wanted: HashSet<Ino> = new.iter().map(|(ino, _)| *ino).collect();
        let mut paths = HashMap::new();
        if wanted.remove(&root) {
            paths.insert(root, Vec::new());
        }
        // directories that cannot be listed are passed over; what ends the walk leaves inodes
        // without a path
        let _ = walk(&*self.image, root, &mut |visit| {
            if let Visit::Enter(entry) = visit
                && wanted.remove(&entry.ino)
            {
                paths.insert(entry.ino, entry.path.to_vec());
            }
            let is_done = wanted.is_empty();
            Ok(if is_done {
                WalkStep::Stop
            } else {
                WalkStep::On
            })
        });
        let failed = |(ino, why)| FailedInode {
            path: paths.remove(&ino),
            ino,
            why,
        };
        new.into_iter().map(failed).collect()
    }

    fn found(&self) -> MutexGuard<'_, FailureList> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note<T>(&self, ino: Ino, answer: Result<T>) -> Result<T> {
        if let Err(error) = &answer
            && is_failure(error)
        {
            let mut found = self.found();
            if found.all.len() < MAX_INODES && found.all.insert(ino) {
                found.new.push((ino, error.to_string()));
            }
        }
        answer
    }
}

/// Returns whether an error is about the image, and not about the question.
fn is_failure(error: &Error) -> bool {
    !matches!(
        error.kind(),
        Kind::NotFound | Kind::NotDirectory | Kind::Invalid | Kind::Loop | Kind::Cancelled
    )
}

impl Image for ReadFailures {
    sinterfs_model::delegate_image!(image: info, release);

    fn inode(&self, ino: Ino) -> Result<Inode> {
        self.note(ino, self.image.inode(ino))
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.note(dir, self.image.read_dir(dir, from, visit))
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        self.note(dir, self.image.lookup(dir, name))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        self.note(dir, self.image.parent(dir))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        self.note(ino, self.image.read_link(ino))
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        self.note(ino, self.image.extents(ino, from, visit))
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.note(ino, self.image.read_at(ino, offset, buf))
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.note(ino, self.image.xattrs(ino))
    }
}
