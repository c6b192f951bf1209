//! The request and the report of a recompression: plain data.

use std::ffi::OsString;
use std::path::PathBuf;

use sinterfs_model::Summary;

use crate::open_options::OpenOptions;
use crate::write::header::HeaderSource;
use crate::write::report::BuildReport;
use crate::write::request::BuildRequest;

/// Which parts of an image are compressed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecompressParts {
    /// Blocks and metadata.
    #[default]
    All,
    /// Blocks.
    Blocks,
    /// Metadata.
    Metadata,
    /// Neither: the image is only written in the newest version of its format.
    None,
}

/// Everything that can be asked of a recompression.
#[derive(Debug, Clone)]
pub struct RecompressRequest {
    /// The image that is read.
    pub image: PathBuf,
    /// How it is opened.
    pub open: OpenOptions,
    /// The options of a build; its input is ignored, and a format has to be that of the image. A
    /// block size other than the image's, or a purpose, asks for the whole pipeline, and changes of
    /// owners, modes, times and packing need new metadata.
    pub build: BuildRequest,
    /// Options of the image's format by their names, for callers that do not know the format.
    pub options: Vec<(String, OsString)>,
    /// Whether files are ordered, compared and cut anew.
    pub rebuild: bool,
    /// Whether new metadata is made.
    pub rebuild_metadata: bool,
    /// Which parts are compressed anew.
    pub parts: RecompressParts,
    /// The categories whose blocks may change, or, if true, all but these.
    pub categories: Option<(Vec<String>, bool)>,
    /// Whether a block is kept if it would not become smaller.
    pub keep_smaller: bool,
    /// What stands before the new image.
    pub header: HeaderSource,
}

/// The result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecompressReport {
    /// The format's name.
    pub format: &'static str,
    /// Bytes of the old image, without its header.
    pub old_bytes: u64,
    /// The new image.
    pub image: Summary,
    /// Blocks that were compressed anew; the others are as they were.
    pub recoded: u64,
    /// The name with the digest in the registry that it was pushed to, unless it was rebuilt.
    pub pushed: Option<String>,
    /// The report of the pipeline, if the image was rebuilt.
    pub rebuilt: Option<BuildReport>,
}
