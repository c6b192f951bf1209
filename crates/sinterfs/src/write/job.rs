//! A build on its way to its format's writer.

use sinterfs_format::FormerRuns;
use sinterfs_model::Result;

use crate::formats::options::FormatOptions;
use crate::write::base::OpenBase;
use crate::write::header::HeaderBytes;
use crate::write::input::opened::OpenInput;
use crate::write::request::BuildRequest;

/// A request, its format, and the input, which is opened when the writer asks for it.
pub struct BuildJob<'a> {
    /// The format with its options.
    pub(crate) format: &'a FormatOptions,
    /// The request.
    pub(crate) request: &'a BuildRequest,
    open: Box<dyn FnOnce() -> Result<Prepared> + 'a>,
}

impl<'a> BuildJob<'a> {
    /// Describes a build whose input `open` opens.
    pub(crate) fn new(
        format: &'a FormatOptions,
        request: &'a BuildRequest,
        open: impl FnOnce() -> Result<Prepared> + 'a,
    ) -> Self {
        Self {
            format,
            request,
            open: Box::new(open),
        }
    }

    /// Opens the input.
    pub(crate) fn open(self) -> Result<Prepared> {
        (self.open)()
    }
}

/// Everything that a build reads, opened.
pub(crate) struct Prepared {
    pub(crate) input: OpenInput,
    /// The command that is recorded in the image.
    pub(crate) command: &'static str,
    /// The runs that made the images that are read.
    pub(crate) former: FormerRuns,
    /// The image whose blocks are taken over.
    pub(crate) base: Option<OpenBase>,
    /// The header before the new image in its file.
    pub(crate) header: Option<HeaderBytes>,
}
