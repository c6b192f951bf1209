//! The interface between the facade and a format: one trait, which each row of the registry
//! implements.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Observer, Result};

use crate::handle::{Bid, Handle, OwnDigests};
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
    /// Returns the writer of new images.
    #[cfg(feature = "write")]
    fn writer(&self) -> &dyn FormatWriter;
}
