//! The short way to build an image.

use std::path::{Path, PathBuf};

use sinterfs_model::{Observer, Quiet, Result};

use crate::open_options::OpenOptions;
use crate::output::destination::Destination;
use crate::write::build::build;
use crate::write::filters::Filter;
use crate::write::format_options::FormatOptions;
use crate::write::input::kinds::{Input, Layering};
use crate::write::report::BuildReport;
use crate::write::request::BuildRequest;

/// Describes an image to build.
///
/// The same sources and options give the same bytes, whatever the number of threads.
///
/// ```no_run
/// use sinterfs::Builder;
/// use sinterfs::build::{DwarfsOptions, FormatOptions};
///
/// # fn main() -> sinterfs::Result<()> {
/// let mut options = DwarfsOptions::default();
/// options.with_digest = true;
/// let report = Builder::new("dir")
///     .options(FormatOptions::Dwarfs(options))
///     .level(9)
///     .build("dir.dwarfs")?;
/// println!("{} files", report.pipeline.tree.files);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    sources: Vec<PathBuf>,
    request: BuildRequest,
    replace: bool,
}

impl Builder {
    /// Packs a path: a directory, an archive, a list of files (mtree) or an image. Which of these
    /// it is, its content decides.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        let source = source.into();
        Self {
            request: BuildRequest::new(&source),
            sources: vec![source],
            replace: false,
        }
    }

    /// Packs an input of which more is known than its path.
    pub fn from_input(input: Input) -> Self {
        Self {
            request: BuildRequest::from_input(input),
            sources: Vec::new(),
            replace: false,
        }
    }

    /// Adds a layer: its names hide those of the sources before it.
    pub fn layer(mut self, source: impl Into<PathBuf>) -> Self {
        self.sources.push(source.into());
        self
    }

    /// Sets the format by its name, in place of that of the output's extension.
    pub fn format(mut self, name: impl Into<String>) -> Self {
        self.request.format = Some(name.into());
        self
    }

    /// Sets the format, with options that it alone has.
    pub fn options(mut self, options: FormatOptions) -> Self {
        options.apply(&mut self.request);
        self
    }

    /// Sets the level, 0 to 9 (default: 7): higher ones give smaller images and take longer.
    pub fn level(mut self, level: u8) -> Self {
        self.request.level = level;
        self
    }

    /// Sets the compression of blocks, as in `zstd:level=19`, in place of the level's.
    pub fn compression(mut self, compression: impl Into<String>) -> Self {
        self.request.compression = Some(compression.into());
        self
    }

    /// Sets the bytes of a block, a power of two, in place of the level's.
    pub fn block_size(mut self, bytes: u64) -> Self {
        self.request.block_size = Some(bytes);
        self
    }

    /// Sets the number of threads (default: one for each processor).
    pub fn threads(mut self, threads: usize) -> Self {
        self.request.threads = threads;
        self
    }

    /// Excludes names that match a pattern. Of several patterns the first that matches applies.
    pub fn exclude(mut self, pattern: impl Into<String>) -> Self {
        self.request.filters.push(Filter::Exclude(pattern.into()));
        self
    }

    /// Includes names that match a pattern.
    pub fn include(mut self, pattern: impl Into<String>) -> Self {
        self.request.filters.push(Filter::Include(pattern.into()));
        self
    }

    /// Sets whether anything that cannot be read or kept is an error.
    pub fn strict(mut self, strict: bool) -> Self {
        self.request.strict = strict;
        self
    }

    /// Sets whether an existing image is replaced.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Returns the request, for options that have no method here. Its input and its destination are
    /// set when the image is built.
    pub fn request_mut(&mut self) -> &mut BuildRequest {
        &mut self.request
    }

    /// Builds the image. On an error nothing is left of it.
    ///
    /// # Errors `Invalid` for options that make no sense together, `Unsupported` for ones that the
    /// format does not have, `Io` if a file cannot be read or written.
    pub fn build(&self, image: impl AsRef<Path>) -> Result<BuildReport> {
        self.build_observed(image, &Quiet)
    }

    /// Builds the image, and shows an observer progress and warnings.
    ///
    /// # Errors
    /// As [`Builder::build`]; `Cancelled` if the observer asks to stop.
    pub fn build_observed(
        &self,
        image: impl AsRef<Path>,
        observer: &dyn Observer,
    ) -> Result<BuildReport> {
        let mut request = self.request.clone();
        match &self.sources[..] {
            [] => {}
            [source] => request.input = Input::of(source, &OpenOptions::default())?,
            layers => request.input = Input::layers(layers.to_vec(), Layering::default()),
        }
        request.destination = Destination::of(image.as_ref(), self.replace);
        build(&request, observer)
    }
}
