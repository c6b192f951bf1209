//! Cuts content into segments, as the writer's geometry asks.
//!
//! Enters the pieces of the contents in order; leaves `Segment`s and, for each content, its
//! extents: `solid` for blocks that hold anything, `per_file` for units of single files.
//! **Invariant:** segments are numbered when they are complete, from 0 without gaps; the result
//! depends on the contents and their order alone.

pub(crate) mod base_follow;
pub(crate) mod per_file;
pub(crate) mod repeats;
pub(crate) mod solid;
pub(crate) mod tail_dedup;

use sinterfs_model::{Category, Error, MapExtent, Observer, Result, Segment};

use crate::anchors::Anchor;
use base_follow::BaseUsage;
use per_file::PerFile;
use solid::Solid;

/// The extents of one content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtentList {
    /// Where its extents end in `Segmented::extents`; they begin where the last list's end.
    pub end: u64,
    /// Bytes, holes included.
    pub size: u64,
}

/// What is known when all content is cut.
#[derive(Debug, Default)]
pub(crate) struct Segmented {
    /// The extents of all lists; each block by the number of its segment.
    pub extents: Vec<MapExtent>,
    /// One list for each content, in order.
    pub lists: Vec<ExtentList>,
    /// How many segments were made.
    pub segments: u32,
    /// Bytes that were found stored already and not stored again.
    pub matched: u64,
    /// What is used of the base.
    pub used: BaseUsage,
}

impl Segmented {
    /// Returns the next segment its number.
    fn number(&mut self) -> Result<u32> {
        let number = self.segments;
        self.segments = number
            .checked_add(1)
            .filter(|&count| count < u32::MAX)
            .ok_or_else(|| Error::limit("more than 4294967294 blocks; choose larger ones"))?;
        Ok(number)
    }
}

/// How content is cut.
#[derive(Debug, Clone)]
pub(crate) enum SegmentOptions {
    /// Into solid blocks.
    Solid(solid::SolidOptions),
    /// Into units of each file.
    PerFile(per_file::PerFileOptions),
}

/// Cuts content; `emit` takes each segment.
pub(crate) enum Segmenter<E> {
    Solid(Box<Solid<E>>),
    PerFile(Box<PerFile<E>>),
}

impl<E: FnMut(Segment) -> Result<()>> Segmenter<E> {
    /// Starts with no content.
    pub fn new(cut: SegmentOptions, emit: E) -> Result<Self> {
        Ok(match cut {
            SegmentOptions::Solid(cut) => Self::Solid(Box::new(Solid::new(cut, emit)?)),
            SegmentOptions::PerFile(cut) => Self::PerFile(Box::new(PerFile::new(cut, emit)?)),
        })
    }

    /// Notes where the anchors of the base are, if there is one.
    pub fn note_base(&mut self, observer: &dyn Observer) -> Result<()> {
        match self {
            Self::Solid(solid) => solid.note_base(observer),
            Self::PerFile(_) => Ok(()),
        }
    }

    /// Says that the current content probably is one of the base's.
    pub fn expect(&mut self, list: u32) {
        if let Self::Solid(solid) = self {
            solid.expect(list);
        }
    }

    /// Takes the next bytes of the current content, and where their anchors are.
    pub fn data(&mut self, bytes: &[u8], anchors: &[Anchor], category: Category) -> Result<()> {
        match self {
            Self::Solid(solid) => solid.data(bytes, anchors, category),
            Self::PerFile(per_file) => per_file.data(bytes, anchors, category),
        }
    }

    /// Takes a hole of the current content.
    pub fn hole(&mut self, len: u64) -> Result<()> {
        match self {
            Self::Solid(solid) => {
                solid.hole(len);
                Ok(())
            }
            Self::PerFile(per_file) => per_file.hole(len),
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
        }
    }

    /// Emits what is open of a category of which nothing comes any more.
    pub fn close(&mut self, category: Category) -> Result<()> {
        match self {
            Self::Solid(solid) => solid.close(category),
            Self::PerFile(per_file) => per_file.close(category),
        }
    }

    /// Emits what is open and tells what was made of all content.
    pub fn finish(self) -> Result<Segmented> {
        match self {
            Self::Solid(solid) => solid.finish(),
            Self::PerFile(per_file) => per_file.finish(),
        }
    }
}
