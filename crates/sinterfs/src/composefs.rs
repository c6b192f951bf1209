//! composefs: images that are written here, and opened as the EROFS images that they
//! are.

#[cfg(feature = "write")]
pub(crate) mod contents;
#[cfg(feature = "write")]
pub(crate) mod dump;
#[cfg(feature = "write")]
pub(crate) mod object_store;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod overlay_mount;

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::{About, Bid, CheckOptions, CheckReport, Format, Handle, ReadOptions};
use sinterfs_model::{Observer, Result, Setting};

#[cfg(all(feature = "mount", target_os = "linux"))]
pub(crate) use overlay_mount::mount_overlay;

use sinterfs_erofs::format::ErofsFormat;

/// composefs: metadata in an EROFS image, content in a store of objects.
#[derive(Debug)]
pub struct ComposefsFormat;

impl Format for ComposefsFormat {
    fn name(&self) -> &'static str {
        "composefs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["composefs", "cfs"]
    }

    fn bid(&self, _: &Arc<dyn ReadAt>, _: &ReadOptions) -> Result<Bid> {
        // every such image is one of EROFS, and recognised as that
        Ok(Bid::No)
    }

    fn reader_options(&self) -> &'static [Setting] {
        ErofsFormat.reader_options()
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        ErofsFormat.open(source, options)
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        ErofsFormat.check(source, options, depth, observer)
    }

    fn about(&self) -> About {
        About {
            title: "composefs",
            codecs: &[],
            notes: "The same images, and so the same digests, as mkcomposefs 1.0.8; hard links \
                    become separate files, as there. See docs/formats/composefs.md.",
        }
    }
}
