//! An opened image whose blocks a new image takes over, decoded or as they are stored.

use std::io::Write;
use std::path::Path;

use sinterfs_block::Sink;
use sinterfs_codec::Encoding;
use sinterfs_model::{ContentMap, ImageWriter, Observer, Result, Summary, Tree};

use crate::create::CreateOptions;
use crate::former_runs::FormerRuns;
use crate::pipeline_format::PipelineFormat;

/// The interface of a format whose blocks any file may refer to.
pub trait Reuse {
    /// Returns the runs that made the image.
    fn former_runs(&self) -> Result<FormerRuns>;
    /// Creates another image on the blocks of this one; the map says where the content of this
    /// image's files is, the path is for messages. `Invalid` for options of another format.
    fn create_on(
        &self,
        out: Box<dyn Sink>,
        format: &dyn PipelineFormat,
        options: &CreateOptions,
        content: ContentMap,
        path: &Path,
    ) -> Result<Box<dyn ImageWriter>>;
    /// Writes the image anew around the content that it has.
    fn rewrite(
        &self,
        out: Box<dyn Write + Send>,
        options: &RewriteOptions<'_>,
        observer: &dyn Observer,
    ) -> Result<Rewritten>;
}

/// How an image is written anew around the content that it has.
#[derive(Debug, Clone)]
pub struct RewriteOptions<'a> {
    /// The compression of blocks; `None` leaves them as they are.
    pub compression: Option<Encoding>,
    /// The options of the format.
    pub format: &'a dyn PipelineFormat,
    /// The categories whose blocks may change, or, if true, all but these.
    pub selection: Option<(Vec<String>, bool)>,
    /// Whether a block is kept if it would not become smaller.
    pub keep_smaller: bool,
    /// The treatment of the metadata.
    pub metadata: MetadataPlan<'a>,
    /// The parts written around the blocks.
    pub create: CreateOptions,
    /// Threads that work.
    pub threads: usize,
}

/// The treatment of the metadata of a rewritten image.
#[derive(Debug, Clone, Copy)]
pub enum MetadataPlan<'a> {
    /// The stored form is kept.
    Keep,
    /// It is compressed anew.
    Encode,
    /// It is made anew of the tree, whose content is where the map says.
    Rebuild(&'a Tree, &'a ContentMap),
}

/// An image that was written anew.
#[derive(Debug, Clone, Default)]
pub struct Rewritten {
    /// The new image.
    pub image: Summary,
    /// Blocks that were compressed anew.
    pub recoded: u64,
}
