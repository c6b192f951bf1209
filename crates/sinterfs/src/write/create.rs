//! The options of a new image, resolved from a request and its level, as a format receives them.

use std::collections::BTreeSet;

use sinterfs_block::Sink;
use sinterfs_codec::Encoding;
use sinterfs_platform::Scratch;

use crate::write::former_runs::FormerRuns;
use crate::write::request::{PerFileOptions, VolumeOptions};

/// A device of its own for the content of an image.
pub struct Blob {
    /// Its name in the image.
    pub name: std::ffi::OsString,
    /// Where it goes.
    pub sink: Box<dyn Sink>,
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Blob");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

/// The options of a new image, common ones and those of some formats.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// The compression of blocks, in the format's words.
    pub compression: String,
    /// Bytes of a block: a power of two.
    pub block_size: u64,
    /// The time of creation, in seconds since 1970.
    pub create_timestamp: Option<u64>,
    /// Threads that may encode metadata.
    pub threads: usize,
    /// Where files for what exceeds memory are created.
    pub scratch: Scratch,
    /// Whether equal files are stored once.
    pub duplicates: bool,
    /// For formats whose blocks hold many files.
    pub solid: SolidOptions,
    /// For formats that cut each file for itself.
    pub per_file: PerFileOptions,
    /// For formats whose images are volumes.
    pub volume: VolumeOptions,
    /// The extended attributes that are named streams in images that are read.
    pub streams: BTreeSet<Vec<u8>>,
}

/// How an image is created whose blocks hold many files.
#[derive(Debug, Clone)]
pub struct SolidOptions {
    /// The compression of blocks of some categories, by name; the first that names one counts.
    pub by_category: Vec<(String, Encoding)>,
    /// The level of FLAC for audio, if audio and images have codecs of their own.
    pub flac_level: Option<u32>,
    /// The compression of content that looks incompressible.
    pub incompressible: Encoding,
    /// The compression of the files needed first, if it differs.
    pub hot: Option<Encoding>,
    /// The compression of metadata.
    pub metadata_compression: Encoding,
    /// The unit of times in nanoseconds.
    pub time_resolution: u64,
    /// Whether times of access and of inode change are kept.
    pub keep_all_times: bool,
    /// The settings as text, if the image records them.
    pub history: Option<Vec<String>>,
    /// The runs that made the image that is read, for the history.
    pub former: FormerRuns,
    /// Which tables of the metadata are packed, in the format's words; `None` means all.
    pub packing: Option<String>,
    /// Whether the image has an index of its sections.
    pub section_index: bool,
    /// Whether it has digests of all its bytes.
    pub digest: bool,
    /// Whether it has its metadata twice.
    pub metadata_copy: bool,
}
