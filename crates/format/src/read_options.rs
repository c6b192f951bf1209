//! How an image is opened by its format: plain data, the same for all formats.

use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_model::Limits;

/// How to open an image. A format ignores what its images do not have; the options that must not be
/// ignored are those of [`crate::Format::reader_options`].
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The offset of the image in its file in bytes; `None` finds it behind any header.
    pub offset: Option<u64>,
    /// The length of the image in bytes; `None` finds it where something may follow the image.
    pub len: Option<u64>,
    /// Bounds on what a hostile image may make the reader allocate.
    pub limits: Limits,
    /// Bytes that decoded blocks may take, if `cache` is not given.
    pub cache_bytes: u64,
    /// A cache of decoded blocks to share with other images.
    pub cache: Option<Arc<BlockCache>>,
    /// The files of an image's further devices, in their order.
    pub devices: Vec<PathBuf>,
    /// Which image is opened where a file has several, by its number or name; `None` for all.
    pub image: Option<String>,
    /// The directory of the objects that an image refers to.
    pub objects: Option<PathBuf>,
    /// Whether objects are hashed when they are first read, and compared with the digests that
    /// the image names.
    pub verify_objects: bool,
    /// The directory in which further files of the image are looked for, by the names that the
    /// image has for them.
    pub beside: Option<PathBuf>,
    /// Whether an image is opened of which the end is lost, but nothing that its files need. The
    /// damage is a warning.
    pub salvage: bool,
    /// Whether the bytes of the source are compared with a proof, which covers no other file.
    pub is_proven: bool,
    /// The list of the image's sections, if it is proven.
    pub sections: Option<Arc<[u64]>>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            offset: None,
            len: None,
            limits: Limits::default(),
            cache_bytes: 512 << 20,
            cache: None,
            devices: Vec::new(),
            image: None,
            objects: None,
            verify_objects: true,
            beside: None,
            salvage: false,
            is_proven: false,
            sections: None,
        }
    }
}

impl ReadOptions {
    /// Opens an image that begins at an offset.
    pub fn at(offset: u64) -> Self {
        Self {
            offset: Some(offset),
            ..Self::default()
        }
    }

    /// Returns where to look for an image that is not searched for, in bytes.
    pub fn start_offset(&self) -> u64 {
        self.offset.unwrap_or(0)
    }
}
