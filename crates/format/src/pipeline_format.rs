//! The interface of the pipeline to a format that it writes.

use std::any::Any;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::{ReadAt, Sink};
use sinterfs_model::{
    Categorizers, Error, ImageWriter, MapExtent, ReadCost, Result, Setting, StoredRange,
};

use crate::create::{Blob, CreateOptions};
use crate::level::Level;

/// Writes images without content, which refer to the file of their source.
pub trait IndexWriter: ImageWriter {
    /// Refers to ranges of that file as the content of a file of `len` bytes, and returns its
    /// extents.
    ///
    /// # Errors
    /// `Unsupported` for ranges that the format cannot refer to.
    fn refer(&mut self, ranges: &[StoredRange], len: u64) -> Result<Vec<MapExtent>>;
}

/// What new images of a format can have, of what most formats have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// A time of creation.
    pub creation_time: bool,
    /// Equal files that are stored more than once.
    pub repeated_files: bool,
    /// Files that are stored uncompressed among others.
    pub uncompressed_files: bool,
    /// A choice for each file of where its tail goes, and of its alignment.
    pub placed_tails: bool,
    /// Separate blocks for audio and images.
    pub media_categories: bool,
    /// Times of access and of inode change.
    pub all_times: bool,
    /// Named streams of files.
    pub named_streams: bool,
    /// A beginning that is written last.
    pub patches: bool,
}

impl Capabilities {
    /// What nearly all formats have.
    pub const USUAL: Self = Self {
        creation_time: true,
        repeated_files: true,
        uncompressed_files: false,
        placed_tails: false,
        media_categories: false,
        all_times: false,
        named_streams: false,
        patches: true,
    };
}

/// What the options of a format ask of the library, which opens files and plans blocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions<'a> {
    /// An image whose stored blocks are reused.
    pub base: Option<&'a Path>,
    /// A separate file for all content.
    pub device: Option<&'a Path>,
    /// How many blocks back repeats are looked for; `None` means all.
    pub lookback: Option<u32>,
    /// The price of reads; `None` leaves it to the level.
    pub read_cost: Option<ReadCost>,
    /// Whether the runs that made the images which are read are recorded.
    pub history: bool,
}

/// What the options of a format ask of an image that is written again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rework {
    /// That all content is cut and compressed again.
    pub all: bool,
    /// An option that has an effect only then.
    pub only_with_all: Option<Setting>,
    /// That the metadata is made again of the tree.
    pub tree: bool,
}

/// The options of a format whose images are written by the pipeline, which create its writer.
pub trait PipelineFormat: Any + fmt::Debug + Send + Sync {
    /// Returns the settings of a level from 0 to 9. `Invalid` for a higher number.
    fn level(&self, level: u8) -> Result<&'static Level>;
    /// Returns the settings of a level with this compression.
    fn with_compression(&self, level: &'static Level, compression: &str) -> &'static Level {
        let _ = compression;
        level
    }
    /// Returns the kinds of content that are distinguished by default.
    fn categorizers(&self) -> Categorizers {
        Categorizers::NONE
    }
    /// Returns what the images can have.
    fn capabilities(&self) -> Capabilities {
        Capabilities::USUAL
    }
    /// Returns what these options ask of the library.
    fn plan(&self) -> PlanOptions<'_> {
        PlanOptions::default()
    }
    /// Returns what these options ask of an image that is written again.
    fn rework(&self) -> Rework {
        Rework::default()
    }
    /// Returns whether content is cut into blocks of a size that can be chosen, with such a
    /// compression.
    fn cuts_blocks(&self, compression: &str) -> bool {
        let _ = compression;
        true
    }
    /// Returns the name under which readers of its image find a device that another one replaces;
    /// `None` if they would read the other one instead.
    fn kept_device(&self, device: &Path) -> Result<Option<PathBuf>> {
        let _ = device;
        Ok(None)
    }
    /// Creates an image; `blob` receives the content if `plan` has a device.
    fn create(
        &self,
        out: Box<dyn Sink>,
        blob: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>>;
    /// Returns whether the options ask for an index of the source, which has no content.
    fn is_index(&self) -> bool {
        false
    }
    /// Creates an index of a source.
    fn create_index(
        &self,
        out: Box<dyn Sink>,
        options: &CreateOptions,
    ) -> Result<Box<dyn IndexWriter>> {
        let _ = (out, options);
        Err(Error::unsupported("images of this format have all content"))
    }
    /// Copies an image, with the header before it, and embeds a signature in the copy.
    fn sign(&self, _: &Arc<dyn ReadAt>, _: &str, _: &mut dyn Write) -> Result<()> {
        Err(Error::unsupported(
            "images of this format hold no signatures",
        ))
    }
}
