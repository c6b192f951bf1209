//! The row of composefs: images that are written here, and opened as the EROFS images that they
//! are.

#[cfg(feature = "write")]
mod build;
#[cfg(feature = "write")]
mod contents;
#[cfg(feature = "write")]
pub(crate) mod dump;
#[cfg(feature = "write")]
mod object_store;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod overlay_mount;

#[cfg(all(feature = "mount", target_os = "linux"))]
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Observer, Result, Setting};

use super::erofs::ErofsFormat;
#[cfg(feature = "write")]
use crate::about::About;
use crate::format::Format;
use crate::handle::{Bid, Handle};
#[cfg(all(feature = "mount", target_os = "linux"))]
use crate::mount::object_verification::ObjectVerification;
use crate::open_options::OpenOptions;
use crate::verify::report::{CheckOptions, CheckReport};
#[cfg(feature = "write")]
use crate::write::format_writer::FormatWriter;

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

    fn bid(&self, _: &Arc<dyn ReadAt>, _: &OpenOptions) -> Result<Bid> {
        // every such image is one of EROFS, and recognised as that
        Ok(Bid::No)
    }

    fn reader_options(&self) -> &'static [Setting] {
        ErofsFormat.reader_options()
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        ErofsFormat.open(source, options)
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        ErofsFormat.check(source, options, depth, observer)
    }

    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn mount_overlay(
        &self,
        image: &Path,
        open: &OpenOptions,
        dir: &Path,
        options: &sinterfs_mount::MountOptions,
    ) -> Option<Result<ObjectVerification>> {
        Some(overlay_mount::mount_overlay(image, open, dir, options))
    }

    #[cfg(feature = "write")]
    fn about(&self) -> About {
        About {
            title: "composefs",
            codecs: &[],
            notes: "The same images, and so the same digests, as mkcomposefs 1.0.8; hard links \
                    become separate files, as there. See docs/formats/composefs.md.",
        }
    }

    #[cfg(feature = "write")]
    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&build::ComposefsBuilder)
    }
}
