//! The content of files: its digests, and objects made of it.
//!
//! In: a source's files, by many threads. Out: for each node the record of its content in an image.
//!
//! **Invariant:** an object has the content whose digest it is named by, whatever happens to the
//! file meanwhile.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use sinterfs_block::verity::{Verity, VerityDigest, verity};
use sinterfs_erofs::composefs::{Body, INLINE_MAX, ObjectPath};
use sinterfs_model::{Error, ExtentSource, FileContent, NodeId, Observer, Result, Tree};
use sinterfs_pipeline::FileVisitor;
use sinterfs_platform::FileAt;

use super::object_store::{ObjectStore, Waiting};

/// Bytes of one job: a file, or a piece of a larger one.
pub(crate) const MEMORY: u64 = BUFFERED;

/// Files up to this length stay in memory between hashing and storing; others are read twice.
const BUFFERED: u64 = 4 << 20;

/// Bytes per read of other files.
const PIECE: usize = 1 << 20;

/// Finds the digests of files, and stores their content.
pub(crate) struct ContentHasher<'a> {
    tree: &'a Tree,
    store: Option<&'a ObjectStore>,
    observer: &'a dyn Observer,
    bodies: Mutex<Vec<Body>>,
    changed: AtomicU64,
}

impl<'a> ContentHasher<'a> {
    /// Starts with a tree of which nothing is known but its names.
    pub(crate) fn new(
        tree: &'a Tree,
        store: Option<&'a ObjectStore>,
        observer: &'a dyn Observer,
    ) -> Self {
        Self {
            tree,
            store,
            observer,
            bodies: Mutex::new(vec![Body::None; tree.nodes().len()]),
            changed: AtomicU64::new(0),
        }
    }

    /// Returns the content record of each node, and the number of files that changed while they
    /// were read.
    pub(crate) fn finish(self) -> (Vec<Body>, u64) {
        let bodies = self.bodies.into_inner();
        let bodies = bodies.unwrap_or_else(PoisonError::into_inner);
        (bodies, self.changed.into_inner())
    }
}

/// The state of a thread.
#[derive(Debug, Default)]
pub(crate) struct HasherState {
    buffer: Vec<u8>,
    waiting: Waiting,
}

impl FileVisitor for ContentHasher<'_> {
    type State = HasherState;

    fn start(&self) -> HasherState {
        HasherState::default()
    }

    fn read(&self, state: &mut HasherState, file: NodeId, content: &dyn FileContent) -> Result<()> {
        let len = content.len()?;
        let (body, len) = match len {
            0..=BUFFERED => self.buffered(state, content, len)?,
            _ => self.streamed(state, content)?,
        };
        let node = self.tree.node(file);
        let scanned = match node.content {
            sinterfs_model::Content::File { size } => size,
            _ => 0,
        };
        let time = content.modified()?;
        if len != scanned || time.is_some_and(|time| time != node.meta.times.modified) {
            self.changed.fetch_add(1, Ordering::Relaxed);
            let path = String::from_utf8_lossy(&self.tree.path(file)).into_owned();
            let what = "changed while it was packed, stored as it was read then";
            self.observer.warn(&Error::invalid(what).path(path));
        }
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        *bodies.get_mut(file.index()).ok_or_else(vanished)? = body;
        Ok(())
    }

    fn end(&self, mut state: HasherState) -> Result<()> {
        match self.store {
            Some(store) => state.waiting.flush(store),
            None => Ok(()),
        }
    }
}

impl ContentHasher<'_> {
    /// Reads a file into memory.
    fn buffered(
        &self,
        state: &mut HasherState,
        content: &dyn FileContent,
        len: u64,
    ) -> Result<(Body, u64)> {
        state.buffer.resize(len as usize, 0);
        let count = content.read_at(0, &mut state.buffer)?;
        let bytes = state.buffer.split_at(count).0;
        let len = count as u64;
        if count == 0 {
            return Ok((Body::None, 0));
        }
        if len <= INLINE_MAX {
            return Ok((Body::Inline(bytes.into()), len));
        }
        let digest = verity(bytes);
        if let Some(store) = self.store
            && !store.has(&digest, len)?
        {
            let mut object = store.create()?;
            object
                .file
                .write_all(bytes)
                .map_err(|error| Error::io("cannot write an object", error))?;
            state.waiting.push(store, object, digest, len)?;
        }
        Ok((object_of(digest, len), len))
    }

    /// Reads a file piece by piece, and once more if the store does not have it yet.
    fn streamed(&self, state: &mut HasherState, content: &dyn FileContent) -> Result<(Body, u64)> {
        let (digest, len) = self.stream(state, content, None)?;
        if let Some(store) = self.store
            && !store.has(&digest, len)?
        {
            let object = store.create()?;
            // of a file that changes meanwhile, what is stored counts
            let (digest, len) = self.stream(state, content, Some(&object.file))?;
            state.waiting.push(store, object, digest, len)?;
            return Ok((object_of(digest, len), len));
        }
        Ok((object_of(digest, len), len))
    }

    /// Hashes a file, and writes its data, where holes stay holes.
    fn stream(
        &self,
        state: &mut HasherState,
        content: &dyn FileContent,
        out: Option<&File>,
    ) -> Result<(VerityDigest, u64)> {
        let (mut hash, mut end) = (Verity::default(), 0);
        state.buffer.resize(PIECE, 0);
        for extent in content.extents()? {
            let is_hole = extent.source == ExtentSource::Hole;
            if is_hole {
                state.buffer.fill(0);
            }
            end = extent.offset;
            let stop = extent.offset.saturating_add(extent.len);
            while end < stop {
                self.observer.check_cancelled()?;
                let want = usize::try_from(stop - end).map_or(PIECE, |left| left.min(PIECE));
                let piece = state.buffer.split_at_mut(want).0;
                let count = if is_hole {
                    want
                } else {
                    content.read_at(end, piece)?
                };
                let piece = piece.split_at(count).0;
                hash.update(piece);
                if let (Some(out), false) = (out, is_hole) {
                    out.write_all_at(piece, end)
                        .map_err(|error| Error::io("cannot write an object", error))?;
                }
                end += count as u64;
                if count < want {
                    break;
                }
            }
            if end < stop {
                break;
            }
        }
        if let Some(out) = out {
            out.set_len(end)
                .map_err(|error| Error::io("cannot write an object", error))?;
        }
        Ok((hash.finish(), end))
    }
}

fn object_of(digest: VerityDigest, size: u64) -> Body {
    if size == 0 {
        return Body::None;
    }
    Body::Object {
        size,
        path: ObjectPath::OfDigest,
        digest: Some(digest),
    }
}

#[cold]
fn vanished() -> Error {
    Error::invalid("a node that is not of the tree")
}
