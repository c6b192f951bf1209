//! The interface of the pipeline to a format that it writes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::{ReadAt, Sink};
use sinterfs_model::{Categorizers, Error, ImageWriter, MapExtent, Result, Setting, StoredRange};

use crate::create::{Blob, CreateOptions, VolumeOptions};
use crate::level::Level;
use crate::purpose::Purpose;

/// Writes images without content, which refer to the file of their source.
pub trait IndexWriter: ImageWriter {
    /// Refers to ranges of that file as the content of a file of `len` bytes, and returns its
    /// extents.
    ///
    /// # Errors
    /// `Unsupported` for ranges that the format cannot refer to.
    fn refer(&mut self, ranges: &[StoredRange], len: u64) -> Result<Vec<MapExtent>>;
}

/// A format whose images are written by the pipeline.
pub trait PipelineFormat: Sync {
    /// Returns the settings of a level from 0 to 9 for such a purpose and volume. `Invalid` for a
    /// higher number.
    fn level(&self, level: u8, purpose: Purpose, volume: &VolumeOptions) -> Result<&'static Level>;
    /// Returns the settings of a level with this compression.
    fn with_compression(&self, level: &'static Level, compression: &str) -> &'static Level {
        let _ = compression;
        level
    }
    /// Returns the kinds of content that are distinguished by default.
    fn categorizers(&self) -> Categorizers {
        Categorizers::ALL
    }
    /// Returns whether an option that not every format has means something for new images.
    fn knows(&self, option: Setting) -> bool;
    /// Returns whether content is cut into blocks of a size that can be chosen, with such a
    /// compression.
    fn cuts_blocks(&self, compression: &str) -> bool {
        let _ = compression;
        true
    }
    /// Returns whether files can have named streams.
    fn has_named_streams(&self) -> bool {
        false
    }
    /// Returns whether the beginning of an image is written last.
    fn patches(&self) -> bool;
    /// Returns the name under which readers of its image find a device that another one replaces;
    /// `None` if they would read the other one instead.
    fn kept_device(&self, device: &Path) -> Result<Option<PathBuf>> {
        let _ = device;
        Ok(None)
    }
    /// Creates an image; `blob` receives the content if the request names one and `knows` allows
    /// it.
    fn create(
        &self,
        out: Box<dyn Sink>,
        blob: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>>;
    /// Returns whether the options ask for an index of the source, which has no content.
    fn is_index(&self, options: &CreateOptions) -> Result<bool> {
        let _ = options;
        Ok(false)
    }
    /// Creates an index of a source.
    fn create_index(
        &self,
        out: Box<dyn Sink>,
        options: &CreateOptions,
    ) -> Result<Box<dyn IndexWriter>> {
        let _ = (out, options);
        Err(Error::unsupported("images of this format have all content"))
    }
    /// Copies an image, with the header before it, and embeds a signature in the copy.
    fn sign(&self, _: &Arc<dyn ReadAt>, _: &str, _: &mut dyn Write) -> Result<()> {
        Err(Error::unsupported(
            "images of this format hold no signatures",
        ))
    }
}
