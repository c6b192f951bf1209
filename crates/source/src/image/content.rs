//! The content of a file of an image, and the record of damage found by reading it.
//!
//! **Invariant:** data and holes alternate: adjacent ranges of several blocks are one run of data,
//! so equal files have equal extents however the image stores them.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sinterfs_model::{Error, Extent, ExtentSource, FileContent, Image, Ino, Result};
use sinterfs_workers::lock;

/// Holes beyond this many extents are read as zeros, so that the list of a sparse file is bounded.
const MAX_EXTENTS: usize = 1 << 20;

/// Records the first error met while reading an image.
#[derive(Debug, Default)]
pub struct Damage {
    found: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl Damage {
    /// Returns whether an error was recorded.
    pub fn is_found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// Removes and returns the first error.
    pub fn take(&self) -> Option<Error> {
        lock(&self.first).take()
    }

    pub(crate) fn note(&self, error: Error) {
        lock(&self.first).get_or_insert(error);
        self.found.store(true, Ordering::Relaxed);
    }
}

/// A regular file of an image.
pub(super) struct ImageFile {
    image: Arc<dyn Image>,
    ino: Ino,
    /// For messages.
    path: PathBuf,
    damage: Arc<Damage>,
}

impl ImageFile {
    pub(super) fn new(image: Arc<dyn Image>, ino: Ino, path: PathBuf, damage: Arc<Damage>) -> Self {
        Self {
            image,
            ino,
            path,
            damage,
        }
    }

    /// Records an error, and returns one with the same message.
    fn noted(&self, error: Error) -> Error {
        let shown = Error::new(error.kind(), error.to_string());
        self.damage.note(error.path(&self.path));
        shown
    }
}

impl FileContent for ImageFile {
    fn len(&self) -> Result<u64> {
        let inode = self.image.inode(self.ino);
        inode
            .map(|inode| inode.size)
            .map_err(|error| self.noted(error))
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let len = self.len()?;
        let mut extents = Vec::new();
        let shown = self.image.extents(self.ino, 0, &mut |extent| {
            push(&mut extents, extent);
            if extents.len() < MAX_EXTENTS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        shown.map_err(|error| self.noted(error))?;
        let end = extents
            .last()
            .map_or(0, |last| last.offset.saturating_add(last.len));
        if end < len {
            push(
                &mut extents,
                Extent {
                    offset: end,
                    len: len - end,
                    source: ExtentSource::Block {
                        block: 0,
                        offset: 0,
                    },
                },
            );
        }
        Ok(extents)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let read = self.image.read_at(self.ino, offset, buf);
        read.map_err(|error| self.noted(error))
    }
}

/// Adds an extent, or makes the last one longer where it is of the same kind.
fn push(extents: &mut Vec<Extent>, extent: Extent) {
    let is_hole = |extent: &Extent| extent.source == ExtentSource::Hole;
    match extents.last_mut() {
        Some(last) if is_hole(last) == is_hole(&extent) => {
            last.len = last.len.saturating_add(extent.len);
        }
        _ => extents.push(extent),
    }
}
