//! Progress and warnings of long work: all stages call one observer.
//!
//! **Invariant:** no library crate prints.

use crate::{Error, Kind, Result};

/// A part of the work, in the order of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// Walking the source.
    Scan,
    /// Decoding the blocks of the base image.
    Base,
    /// Reading files to find equal and similar ones.
    Dedupe,
    /// Reading files in their final order and cutting them into segments.
    Segment,
    /// Encoding segments.
    Compress,
    /// Writing blocks to the image.
    Commit,
    /// Writing metadata.
    Finish,
    /// Restoring files from an image.
    Extract,
    /// Reading an image to verify it.
    Verify,
}

/// An amount of work in items (files, blocks) and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Files, blocks or entries.
    pub items: u64,
    /// Bytes before encoding.
    pub bytes: u64,
    /// Bytes after encoding, if the stage encodes.
    pub stored: u64,
}

impl Tally {
    /// Makes an amount of `items` items without bytes.
    pub const fn items(items: u64) -> Self {
        Self::new(items, 0, 0)
    }

    /// Makes an amount of `bytes` bytes without items.
    pub const fn bytes(bytes: u64) -> Self {
        Self::new(0, bytes, 0)
    }

    /// Makes an amount from its parts.
    pub const fn new(items: u64, bytes: u64, stored: u64) -> Self {
        Self {
            items,
            bytes,
            stored,
        }
    }
}

/// Receives progress, and warnings that do not end the work; called from many threads.
pub trait Observer: Send + Sync {
    /// Reports how much a stage has to do, as soon as that is known.
    fn expect(&self, stage: Stage, total: Tally);
    /// Reports how much more a stage has done.
    fn advance(&self, stage: Stage, done: Tally);
    /// Reports something that was left out or changed although the work goes on.
    fn warn(&self, warning: &Error);
    /// Returns whether the work should stop; checked between steps of the work.
    fn cancelled(&self) -> bool {
        false
    }

    /// Fails with [`Kind::Cancelled`] if the work should stop.
    fn check_cancelled(&self) -> Result<()> {
        if self.cancelled() {
            return Err(Error::new(Kind::Cancelled, "stopped on request"));
        }
        Ok(())
    }
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Observer for Quiet {
    fn expect(&self, _: Stage, _: Tally) {}
    fn advance(&self, _: Stage, _: Tally) {}
    fn warn(&self, _: &Error) {}
}
