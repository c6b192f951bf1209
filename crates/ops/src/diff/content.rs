//! Whether two files have the same bytes.
//!
//! In: files of one size. Out: whether they differ. **Invariant:** where both have a hole nothing
//! is read; memory is two buffers a thread, and the extents of both files.

use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{
    Content, Extent, ExtentSource, FileContent, Kind, NodeId, Observer, Result, Stage, Tally,
};

use super::side::Side;

/// Bytes that are compared at a time.
const COMPARE_LEN: usize = 1 << 20;

/// The read buffers of a thread.
#[derive(Default)]
pub(super) struct Buffers {
    old: Vec<u8>,
    new: Vec<u8>,
}

/// Compares files of two trees.
pub(super) struct Comparison<'a> {
    pub(super) old: Side<'a>,
    pub(super) new: Side<'a>,
    pub(super) observer: &'a dyn Observer,
    unreadable: AtomicU64,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(old: Side<'a>, new: Side<'a>, observer: &'a dyn Observer) -> Self {
        Self {
            old,
            new,
            observer,
            unreadable: AtomicU64::new(0),
        }
    }

    /// Returns how many files could not be read.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    /// Returns whether two nodes have to be read to know if they differ.
    pub(super) fn is_due(&self, (old, new): (NodeId, NodeId)) -> bool {
        match (
            self.old.tree.node(old).content,
            self.new.tree.node(new).content,
        ) {
            (Content::File { size: old }, Content::File { size: new }) => old == new && old > 0,
            _ => false,
        }
    }

    /// Returns the size of the older one of two files.
    pub(super) fn size(&self, (old, _): (NodeId, NodeId)) -> u64 {
        match self.old.tree.node(old).content {
            Content::File { size } => size,
            _ => 0,
        }
    }

    /// Returns when the older one of two files is best read.
    pub(super) fn rank(&self, (old, _): (NodeId, NodeId)) -> u64 {
        self.old.source.rank(self.old.tree, old)
    }

    /// Returns whether two files differ; one that cannot be read does.
    pub(super) fn differs(&self, nodes: (NodeId, NodeId), buffers: &mut Buffers) -> Result<bool> {
        let (old, new) = (self.old, self.new);
        let open = |side: Side<'a>, node| {
            let opened = side.source.open(side.tree, node);
            opened.map_err(|error| {
                error.path(String::from_utf8_lossy(&side.tree.path(node)).as_ref())
            })
        };
        let same = open(old, nodes.0)
            .and_then(|old| Ok((old, open(new, nodes.1)?)))
            .and_then(|(old, new)| self.same(&*old, &*new, buffers));
        self.observer.advance(Stage::Verify, Tally::items(1));
        match same {
            Ok(same) => Ok(!same),
            Err(error) if error.kind() == Kind::Cancelled => Err(error),
            Err(error) => {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
                self.observer.warn(&error);
                Ok(true)
            }
        }
    }

    fn same(
        &self,
        old: &dyn FileContent,
        new: &dyn FileContent,
        buffers: &mut Buffers,
    ) -> Result<bool> {
        let len = old.len()?;
        if new.len()? != len {
            return Ok(false);
        }
        let (old_extents, new_extents) = (old.extents()?, new.extents()?);
        let (mut old_holes, mut new_holes) = (Holes::of(&old_extents), Holes::of(&new_extents));
        let mut at = 0;
        while at < len {
            self.observer.check_cancelled()?;
            let hole = old_holes.end(at).min(new_holes.end(at));
            if hole > at {
                at = hole;
                continue;
            }
            let step = (len - at).min(COMPARE_LEN as u64) as usize;
            buffers.old.resize(step, 0);
            buffers.new.resize(step, 0);
            let read = fill(old, at, &mut buffers.old)?.min(fill(new, at, &mut buffers.new)?);
            if read < step || buffers.old != buffers.new {
                return Ok(false);
            }
            self.observer
                .advance(Stage::Verify, Tally::bytes(step as u64));
            at += step as u64;
        }
        Ok(true)
    }
}

/// Reads until a buffer is full or the file ends.
fn fill(file: &dyn FileContent, at: u64, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(at + filled as u64, rest)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// The holes of a file, looked up in ascending order.
struct Holes<'a> {
    rest: &'a [Extent],
}

impl<'a> Holes<'a> {
    fn of(extents: &'a [Extent]) -> Self {
        Self { rest: extents }
    }

    /// Returns where the hole at a position ends; the position itself if there is none.
    fn end(&mut self, at: u64) -> u64 {
        while let Some((first, rest)) = self.rest.split_first() {
            let end = first.offset.saturating_add(first.len);
            if end > at {
                let is_hole = first.source == ExtentSource::Hole && first.offset <= at;
                return if is_hole { end } else { at };
            }
            self.rest = rest;
        }
        at
    }
}
