//! The interface between the facade and a format: one trait, which each row of the registry
//! implements.

#[cfg(feature = "write")]
use std::ops::Range;
#[cfg(all(feature = "mount", target_os = "linux"))]
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Observer, Result, Setting};

#[cfg(feature = "write")]
use crate::about::About;
#[cfg(feature = "write")]
use crate::handle::MendedPart;
use crate::handle::{Bid, Handle, OwnDigests};
use crate::info::InfoRows;
#[cfg(all(feature = "mount", target_os = "linux"))]
use crate::mount::kernel_backing::KernelBacking;
#[cfg(all(feature = "mount", target_os = "linux"))]
use crate::mount::object_verification::ObjectVerification;
use crate::open_options::OpenOptions;
use crate::verify::report::{CheckOptions, CheckReport};
#[cfg(feature = "write")]
use crate::write::format_writer::FormatWriter;

/// One format.
#[cfg_attr(
    not(feature = "write"),
    allow(dead_code, reason = "some of it is for writers")
)]
pub trait Format: Sync {
    /// Returns the name of the format, as users give it.
    fn name(&self) -> &'static str;
    /// Returns the extensions of image files, without the dot.
    fn extensions(&self) -> &'static [&'static str];
    /// Returns how sure the format is that an image is its own.
    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid>;
    /// Returns whether images are found behind other bytes, however many.
    fn is_found_behind_header(&self) -> bool {
        false
    }
    /// Returns the options of opening that readers of some formats only have, and this one, too.
    fn reader_options(&self) -> &'static [Setting] {
        &[]
    }
    /// Reads the digests that an image has of its own bytes; they are not trusted.
    fn digest(&self, _: &Arc<dyn ReadAt>, _: &OpenOptions) -> Result<Option<OwnDigests>> {
        Ok(None)
    }
    /// Opens an image.
    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>>;
    /// Verifies an image's own checksums and structure, with `deep` every block.
    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport>;
    /// Returns what can be said of an image that cannot be opened; `None` if that is nothing.
    fn survey(&self, _: &Arc<dyn ReadAt>, _: &OpenOptions) -> Result<Option<InfoRows>> {
        Ok(None)
    }
    /// Returns the parts of an image that differ from copies of them that it has, as the copies
    /// are; `None` for an image without copies. `Corrupt` if a copy that is needed is damaged, too.
    #[cfg(feature = "write")]
    fn mend(&self, _: &Arc<dyn ReadAt>, _: &OpenOptions) -> Result<Option<Vec<MendedPart>>> {
        Ok(None)
    }
    /// Returns parts of an image that are as they were written, by their own checksums: not all of
    /// them, but enough to tell the image from others.
    #[cfg(feature = "write")]
    fn intact_parts(&self, _: &Arc<dyn ReadAt>, _: &OpenOptions) -> Result<Vec<Range<u64>>> {
        Ok(Vec::new())
    }
    /// Returns the range of an image, from its own start on, that describes the rest; an empty
    /// range for formats that prove parts by checksums, or have no such range.
    #[cfg(feature = "write")]
    fn head(&self) -> Range<u64> {
        0..0
    }
    /// Makes a file of an image of any format that the kernel mounts as one of this format; `None`
    /// if this format cannot.
    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn kernel_backing(
        &self,
        _: Arc<dyn sinterfs_model::Image>,
        _: &sinterfs_mount::MountOptions,
    ) -> Option<Result<KernelBacking>> {
        None
    }
    /// Mounts an image whose content is files of a directory without a process; `None` if the
    /// content of this format is in the image.
    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn mount_overlay(
        &self,
        _: &Path,
        _: &OpenOptions,
        _: &Path,
        _: &sinterfs_mount::MountOptions,
    ) -> Option<Result<ObjectVerification>> {
        None
    }
    /// Returns what people are shown about the format when they build an image.
    #[cfg(feature = "write")]
    fn about(&self) -> About {
        About {
            title: self.name(),
            codecs: &[],
            notes: "",
        }
    }
    /// Returns the writer of new images; `None` for a format that is read only.
    #[cfg(feature = "write")]
    fn writer(&self) -> Option<&dyn FormatWriter> {
        None
    }
}
