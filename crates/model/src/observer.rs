//! How long work tells what it is doing: stages call one observer, nobody prints.

use crate::Error;

/// Names a part of the work, in the order of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// Walking the source.
    Scan,
    /// Decoding the blocks of the image that is built on.
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

/// Counts work in items (files, blocks) and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Files, blocks or entries.
    pub items: u64,
    /// Bytes before encoding.
    pub bytes: u64,
    /// Bytes after encoding, where the stage encodes.
    pub stored: u64,
}

/// Is told of progress and of what went wrong without ending the work. Called from many threads.
pub trait Observer: Send + Sync {
    /// Returns how much a stage has to do, as soon as that is known.
    fn expect(&self, stage: Stage, total: Tally);
    /// Returns that a stage has done so much more.
    fn advance(&self, stage: Stage, done: Tally);
    /// Returns of something that was left out or changed although the work goes on.
    fn warn(&self, warning: &Error);
    /// Asks whether the work should stop; checked between pieces of work.
    fn cancelled(&self) -> bool {
        false
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
