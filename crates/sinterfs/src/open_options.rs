//! How an image is opened: plain data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_format::ReadOptions;
use sinterfs_model::Limits;

use crate::trust::Trust;

/// How to open an image.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The offset of the image in its file in bytes; `None` finds it behind any header.
    pub offset: Option<u64>,
    /// The length of the image in bytes; `None` finds it where something may follow the image.
    pub len: Option<u64>,
    /// Bytes that decoded blocks may take, if `cache` is not given.
    pub cache_bytes: u64,
    /// A cache of decoded blocks to share with other images.
    pub cache: Option<Arc<BlockCache>>,
    /// Bounds on what a hostile image may make the reader allocate.
    pub limits: Limits,
    /// The files of an image's further devices, in their order.
    pub devices: Vec<PathBuf>,
    /// Which image is opened where a file has several, by its number or name; `None` for all.
    pub image: Option<String>,
    /// Which partition of a disk is opened, by its number; `None` opens the only one that holds an
    /// image. Offsets are then within it.
    pub partition: Option<u32>,
    /// The directory of the objects that composefs images refer to.
    pub objects: Option<PathBuf>,
    /// Whether objects are hashed when they are first read, and compared with the digests that
    /// the image names.
    pub verify_objects: bool,
    /// Whether an image is opened of which the end is lost, but nothing that its files need. The
    /// damage is a warning.
    pub salvage: bool,
    /// What the image must prove to be before a byte of it is used.
    pub trust: Option<Box<Trust>>,
    /// The list of sections of a DwarFS image, if it is proven (`trust` finds it).
    #[doc(hidden)]
    pub sections: Option<Arc<[u64]>>,
    /// The directory in which further files of the image are looked for, by the names that the
    /// image has for them.
    pub beside: Option<PathBuf>,
    /// How remote images are read.
    #[cfg(feature = "remote")]
    pub remote: sinterfs_remote::RemoteOptions,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            offset: None,
            len: None,
            cache_bytes: 512 << 20,
            cache: None,
            limits: Limits::default(),
            devices: Vec::new(),
            image: None,
            partition: None,
            objects: None,
            verify_objects: true,
            salvage: false,
            trust: None,
            sections: None,
            beside: None,
            #[cfg(feature = "remote")]
            remote: sinterfs_remote::RemoteOptions::default(),
        }
    }
}

impl OpenOptions {
    /// Makes a cache of `cache_bytes` that all images share which are opened with these options or
    /// copies of them.
    pub fn share_cache(&mut self) {
        self.cache = Some(shared_cache(self.cache_bytes));
    }

    /// Returns where to look for an image that is not searched for, in bytes.
    pub(crate) fn start_offset(&self) -> u64 {
        self.offset.unwrap_or(0)
    }

    /// Returns these options for the format that opens the image.
    pub(crate) fn read(&self) -> ReadOptions {
        ReadOptions {
            offset: self.offset,
            len: self.len,
            limits: self.limits,
            cache_bytes: self.cache_bytes,
            cache: self.cache.clone(),
            devices: self.devices.clone(),
            image: self.image.clone(),
            objects: self.objects.clone(),
            verify_objects: self.verify_objects,
            beside: self.beside.clone(),
            salvage: self.salvage,
            is_proven: self.trust.is_some(),
            sections: self.sections.clone(),
        }
    }

    /// Completes the options for an image whose file is known.
    pub(crate) fn beside(&self, image: &Path) -> Self {
        let dir = || match image.parent() {
            Some(dir) if dir.as_os_str().is_empty() => PathBuf::from("."),
            Some(dir) => dir.to_owned(),
            None => PathBuf::from("."),
        };
        Self {
            beside: Some(self.beside.clone().unwrap_or_else(dir)),
            trust: self
                .trust
                .as_ref()
                .map(|trust| Box::new(trust.beside(image))),
            ..self.clone()
        }
    }
}

/// Creates a cache for images that are still to be opened.
pub(crate) fn shared_cache(bytes: u64) -> Arc<BlockCache> {
    // not divided into shards, which would not fill evenly: large blocks must be kept, too
    Arc::new(BlockCache::new(bytes, (bytes / 64).max(16 << 20)))
}
