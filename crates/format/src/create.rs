//! What a format receives to create an image, in addition to its options: resolved from a request
//! and its level.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_model::Result;

use crate::former_runs::FormerRuns;
use crate::level::Level;

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

/// The options of a new image that do not depend on its format, resolved.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// The compression of blocks, in the format's words.
    pub compression: String,
    /// Whether the user chose it, not the level.
    pub is_compression_chosen: bool,
    /// The number of the level.
    pub level: u8,
    /// The settings of the level.
    pub settings: &'static Level,
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
    /// Whether extended attributes are kept.
    pub xattrs: bool,
    /// The extended attributes that are named streams in images that are read.
    pub streams: BTreeSet<Vec<u8>>,
    /// The unit of times of the images that are read, in nanoseconds, and whether they have times
    /// of access and of inode change.
    pub source_times: Option<(u64, bool)>,
    /// The run that makes the image, for formats that record it.
    pub run: RunWords,
    /// The runs that made the images that are read.
    pub former: FormerRuns,
}

/// The command line that an image records, without the options of its format.
#[derive(Debug, Clone, Default)]
pub struct RunWords {
    /// The program, the command, and what comes first.
    pub command: Vec<String>,
    /// Level, compression, block size and order; `None` for an image that is made of another one
    /// block by block, of which only some settings are chosen.
    pub settings: Option<Vec<String>>,
    /// What comes last.
    pub more: Vec<String>,
}
