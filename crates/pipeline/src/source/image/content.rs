//! The content of a file of an image, and the record of damage that reading it may find.
//!
//! **Invariant:** data and holes alternate: ranges of several blocks that follow each other are one
//! run of data, so that equal files have equal extents however the image stores them.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sinterfs_model::{Error, Extent, ExtentSource, FileContent, Image, Ino, Result};

use crate::threads::lock;

/// Runs beyond this many are read as data, zeros and all, so that a file made of holes cannot
/// take all memory.
const MAX_EXTENTS: usize = 1 << 20;

/// Keeps the first error that reading an image met.
#[derive(Debug, Default)]
pub struct Damage {
    found: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl Damage {
    /// Returns whether there was an error.
    pub fn is_found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// Takes the first error.
    pub fn take(&self) -> Option<Error> {
        lock(&self.first).take()
    }

    pub(in crate::source) fn note(&self, error: Error) {
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

    /// Keeps an error, and gives one that says the same for the caller.
    fn noted(&self, error: Error) -> Error {
        let told = Error::new(error.kind(), error.to_string());
        self.damage.note(error.path(&self.path));
        told
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
