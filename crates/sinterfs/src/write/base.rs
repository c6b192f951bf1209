//! The image that a new one is built on.
//!
//! Enters its path; leaves a writer that takes its blocks over. **Invariant:** the new image is whole
//! without it.

use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_model::{Error, ImageWriter, Observer, Result, Source};
use sinterfs_pipeline::source::image::{ImageSource, content_map};

use crate::open::{self, OpenOptions, Opened};
use crate::registry::{CreateOptions, FormerRuns};
use crate::write::build::BuildRequest;

/// An opened base.
pub(crate) struct OpenBase {
    opened: Opened,
    path: PathBuf,
}

impl OpenBase {
    /// Opens the base that a request names.
    pub(crate) fn of(request: &BuildRequest) -> Result<Option<Self>> {
        let Some(path) = &request.base else {
            return Ok(None);
        };
        let clashes = [
            (request.hot.is_some(), "--hot puts files where the base"),
            (
                !request.duplicates,
                "--no-duplicates stores again what the base",
            ),
        ];
        if let Some((_, why)) = clashes.iter().find(|(is_asked, _)| *is_asked) {
            return Err(Error::invalid(format!(
                "{why} has them: leave out one of the two"
            )));
        }
        let opened = open::open(path, &OpenOptions::default())?;
        let path = path.clone();
        Ok(Some(Self { opened, path }))
    }

    /// Returns the runs that made it.
    pub(crate) fn former_runs(&self) -> Result<FormerRuns> {
        let runs = self.opened.handle().former_runs();
        runs.map_err(|error| error.path(&self.path))
    }

    /// Creates an image on it.
    pub(crate) fn create(
        &self,
        out: Box<dyn Sink>,
        options: &CreateOptions,
        observer: &dyn Observer,
    ) -> Result<Box<dyn ImageWriter>> {
        let create = || {
            let image = Arc::clone(self.opened.image());
            let source = ImageSource::new(image, &self.path, Arc::default());
            let tree = source.scan(observer)?;
            let content = content_map(&source, &tree)?;
            self.opened
                .handle()
                .create_on(out, options, content, &self.path)
        };
        create().map_err(|error| error.path(&self.path))
    }
}
