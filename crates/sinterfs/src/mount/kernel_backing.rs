//! An image of any format as a computed file that the kernel mounts.

use std::sync::Arc;

use sinterfs_model::{Backing, Error, Image, Loss, Result};
use sinterfs_mount::MountOptions;
use sinterfs_ops::ReadFailures;
use sinterfs_platform::names;

use crate::formats;

/// A computed file that the kernel mounts, with the content of an image of any format.
pub(super) struct KernelBacking {
    /// The file.
    pub(super) file: Arc<dyn Backing>,
    /// What the image has and the file does not show.
    pub(super) losses: Vec<Loss>,
}

impl KernelBacking {
    /// Computes the metadata of an image, with the owners and permissions that the options name.
    /// Warns of what cannot be read.
    pub(super) fn new(image: Arc<dyn Image>, options: &MountOptions) -> Result<Self> {
        let watched = Arc::new(ReadFailures::new(image));
        let (file, losses) = formats::kernel_file(Arc::clone(&watched) as _, options)?;
        for failed in watched.take() {
            let error = Error::corrupt(format!("cannot be read: {}", failed.why));
            let path = failed.path.unwrap_or_default();
            let path = if path.is_empty() { b"." } else { &*path };
            options.observer.warn(&error.path(names::path(path)));
        }
        Ok(Self { file, losses })
    }
}
