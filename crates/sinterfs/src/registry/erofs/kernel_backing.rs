//! Images of any format as EROFS images whose metadata is computed, for the kernel's driver.

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_erofs::lookalike::{Lookalike, Shown};
use sinterfs_model::{Error, Image, Result};
use sinterfs_mount::{Backing, MountOptions};
use sinterfs_ops::ReadFailures;
use sinterfs_platform::names;

use crate::mount::kernel_backing::KernelBacking;

/// Computes the metadata of an image, with the owners and permissions that the options name. Warns
/// of what cannot be read.
pub(super) fn kernel_backing(
    image: Arc<dyn Image>,
    options: &MountOptions,
) -> Result<KernelBacking> {
    let shown = Shown {
        uid: options.uid,
        gid: options.gid,
        umask: options.umask,
        uuid: sinterfs_mount::IMAGE_UUID,
    };
    let watched = Arc::new(ReadFailures::new(image));
    let made = Lookalike::new(Arc::clone(&watched) as _, shown)?;
    for failed in watched.take() {
        let error = Error::corrupt(format!("cannot be read: {}", failed.why));
        let path = failed.path.unwrap_or_default();
        let path = if path.is_empty() { b"." } else { &*path };
        options.observer.warn(&error.path(names::path(path)));
    }
    let losses = made.losses().to_vec();
    Ok(KernelBacking {
        file: Arc::new(LookalikeFile(made)),
        losses,
    })
}

/// A lookalike as what a mount is made of.
struct LookalikeFile(Lookalike);

impl Backing for LookalikeFile {
    fn size(&self) -> u64 {
        self.0.len()
    }

    fn metadata(&self) -> Vec<Range<u64>> {
        self.0.metadata()
    }

    fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, buf)
    }
}
