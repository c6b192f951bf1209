//! The segment stage: cuts content into segments, within the geometry of the writer.
//!
//! Enters the data of the contents in order; leaves `Segment`s and, for each content, its extents:
//! `solid` for blocks that hold any content, `per_file` for units of single files, `stream` for
//! blocks in which contents follow each other. **Invariant:** segments are numbered when they are
//! complete, from 0 without gaps; the result depends only on the contents and their order.

pub(crate) mod base_follow;
pub(crate) mod per_file;
mod reach;
pub(crate) mod repeats;
mod segmented;
pub(crate) mod solid;
pub(crate) mod stream;
pub(crate) mod tail_dedup;

use sinterfs_model::{Category, FileLayout, Observer, Result, Segment};

use crate::anchors::Anchor;
use per_file::PerFile;
use solid::Solid;
use stream::ContentStream;

pub(crate) use segmented::Segmented;

/// How content is cut into segments.
#[derive(Debug, Clone)]
pub(crate) enum SegmentOptions {
    /// Into solid blocks, which hold any content.
    Solid(solid::SolidOptions),
    /// Into units of single files.
    PerFile(per_file::PerFileOptions),
    /// Into blocks of one size, in which contents follow each other.
    Stream(stream::StreamOptions),
}

/// Cuts content; passes each segment to `emit`.
pub(crate) enum Segmenter<E> {
    Solid(Box<Solid<E>>),
    PerFile(Box<PerFile<E>>),
    Stream(ContentStream<E>),
}

impl<E: FnMut(Segment) -> Result<()>> Segmenter<E> {
    /// Creates a segmenter.
    pub fn new(cut: SegmentOptions, emit: E) -> Result<Self> {
        Ok(match cut {
            SegmentOptions::Solid(cut) => Self::Solid(Box::new(Solid::new(cut, emit)?)),
            SegmentOptions::PerFile(cut) => Self::PerFile(Box::new(PerFile::new(cut, emit)?)),
            SegmentOptions::Stream(cut) => Self::Stream(ContentStream::new(cut, emit)?),
        })
    }

    /// Records the anchors of the base, if there is one.
    pub fn note_base(&mut self, observer: &dyn Observer) -> Result<()> {
        match self {
            Self::Solid(solid) => solid.note_base(observer),
            Self::PerFile(_) | Self::Stream(_) => Ok(()),
        }
    }

    /// Announces a content of `len` bytes, and whether it should begin a block.
    pub fn start(&mut self, len: u64, category: Category, begins_block: bool) -> Result<()> {
        match self {
            Self::Solid(solid) => solid.start(len, category, begins_block),
            Self::PerFile(_) => Ok(()),
            Self::Stream(stream) => stream.start(len),
        }
    }

    /// Announces that the current content is probably a list of the base.
    pub fn expect(&mut self, list: u32) {
        if let Self::Solid(solid) = self {
            solid.expect(list);
        }
    }

    /// Adds bytes to the current content, with their anchors.
    pub fn data(&mut self, bytes: &[u8], anchors: &[Anchor], category: Category) -> Result<()> {
        match self {
            Self::Solid(solid) => solid.data(bytes, anchors, category),
            Self::PerFile(per_file) => per_file.data(bytes, anchors, category),
            Self::Stream(stream) => stream.data(bytes),
        }
    }

    /// Sets what the current content wants of its layout.
    pub fn layout(&mut self, layout: FileLayout) {
        if let Self::PerFile(per_file) = self {
            per_file.layout(layout);
        }
    }

    /// Adds a hole to the current content.
    pub fn hole(&mut self, len: u64) -> Result<()> {
        match self {
            Self::Solid(solid) => {
                solid.hole(len);
                Ok(())
            }
            Self::PerFile(per_file) => per_file.hole(len),
            Self::Stream(stream) => stream.hole(len),
        }
    }

    /// Ends the current content and starts the next.
    pub fn end(&mut self) -> Result<()> {
        match self {
            Self::Solid(solid) => {
                solid.end();
                Ok(())
            }
            Self::PerFile(per_file) => per_file.end(),
            Self::Stream(stream) => {
                stream.end();
                Ok(())
            }
        }
    }

    /// Emits the open block of a category that has no further content.
    pub fn close(&mut self, category: Category) -> Result<()> {
        match self {
            Self::Solid(solid) => solid.close(category),
            Self::PerFile(per_file) => per_file.close(category),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Emits all open blocks and returns the result.
    pub fn finish(self) -> Result<Segmented> {
        match self {
            Self::Solid(solid) => solid.finish(),
            Self::PerFile(per_file) => per_file.finish(),
            Self::Stream(stream) => stream.finish(),
        }
    }
}
