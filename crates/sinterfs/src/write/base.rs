//! The image that a new one is built on.
//!
//! Enters the opened image; leaves a writer that takes its blocks over. **Invariant:** the new
//! image is whole without it.

use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_format::{CreateOptions, FormerRuns, PipelineFormat, Reuse};
use sinterfs_model::{Error, ImageWriter, Observer, Result, Source};
use sinterfs_source::image::{ImageSource, content_map};

use crate::image::Image;

/// An opened base.
pub(crate) struct OpenBase {
    opened: Image,
    path: PathBuf,
}

impl OpenBase {
    /// Takes an opened image; the path is for messages.
    pub(crate) fn new(opened: Image, path: PathBuf) -> Self {
        Self { opened, path }
    }

    /// Returns the runs that made it.
    pub(crate) fn former_runs(&self) -> Result<FormerRuns> {
        let runs = former_runs(&self.opened);
        runs.map_err(|error| error.path(&self.path))
    }

    /// Creates an image on it.
    pub(crate) fn create(
        &self,
        out: Box<dyn Sink>,
        format: &dyn PipelineFormat,
        options: &CreateOptions,
        observer: &dyn Observer,
    ) -> Result<Box<dyn ImageWriter>> {
        let create = || {
            let image = Arc::clone(self.opened.raw());
            let source = ImageSource::new(image, &self.path, Arc::default());
            let tree = source.scan(observer)?;
            let content = content_map(&source, &tree)?;
            let base = self.opened.handle().reuse().ok_or_else(|| {
                let format = self.opened.raw().info().format;
                Error::unsupported(format!(
                    "no image is built on one of {format}: files cannot refer to any part of its \
                     blocks"
                ))
            })?;
            base.create_on(out, format, options, content, &self.path)
        };
        create().map_err(|error| error.path(&self.path))
    }
}

/// Returns the runs that made an image, as far as its format records them.
pub(crate) fn former_runs(opened: &Image) -> Result<FormerRuns> {
    let reuse = opened.handle().reuse();
    reuse.map_or(Ok(FormerRuns::default()), Reuse::former_runs)
}
