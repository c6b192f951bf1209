//! The options of a new image, resolved from a request and its level, as a format receives them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_codec::Encoding;
use sinterfs_model::{Result, TailPlacement};

use crate::former_runs::FormerRuns;

/// A separate device for the content of an image.
pub struct Blob {
    /// Its name in the image.
    pub name: std::ffi::OsString,
    /// Where it goes.
    pub sink: Box<dyn Sink>,
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Blob");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

/// Opens files without a name, to write and read again.
#[derive(Clone)]
pub struct ScratchFiles(pub Arc<dyn Fn() -> Result<File> + Send + Sync>);

impl fmt::Debug for ScratchFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScratchFiles")
    }
}

/// The options of a new image, common ones and options of some formats.
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
    /// Opens files for what exceeds memory.
    pub scratch: ScratchFiles,
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
    /// The level of FLAC for audio, if audio and images have separate codecs.
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

/// How an image is created whose files are cut each for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerFileOptions {
    /// The placement of tails; `None` means the format's default.
    pub tails: Option<TailPlacement>,
    /// What is stored uncompressed, in the format's terms.
    pub raw: Option<String>,
    /// Bytes of chunks that are stored once wherever they are equal.
    pub chunk_size: Option<u64>,
    /// Whether blocks of zeros are data.
    pub no_holes: bool,
    /// Whether extended attributes are left out.
    pub no_xattrs: bool,
    /// Long prefixes of attribute names.
    pub xattr_prefixes: Vec<String>,
    /// Whether the table of all inodes is left out.
    pub no_export: bool,
    /// Whether the image ends where its content ends.
    pub no_padding: bool,
}

/// The volume's label, UUID and oldest kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeOptions {
    /// Its UUID; `None` means one made of its content.
    pub uuid: Option<String>,
    /// Its name.
    pub label: Option<String>,
    /// The oldest version of Linux that mounts it.
    pub target_kernel: Option<String>,
    /// Further features, in the format's terms.
    pub extended: Option<String>,
}
