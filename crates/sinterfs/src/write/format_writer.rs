//! The writer of a format: the pipeline, unless the format has its own.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Observer, Result};

use crate::write::create::CreateOptions;
use crate::write::job::{BuildJob, Prepared};
use crate::write::pack::pack;
use crate::write::pipeline_format::PipelineFormat;
use crate::write::purpose::Purpose;
use crate::write::report::BuildReport;
use crate::write::request::{BuildRequest, VolumeOptions};
use crate::write::resolve::create_options;

/// Makes images of one format.
pub trait FormatWriter: Sync {
    /// Builds an image. On an error nothing is left of it.
    fn build(&self, job: BuildJob<'_>, observer: &dyn Observer) -> Result<BuildReport>;

    /// Returns the compression of blocks at a level, if levels choose one.
    fn codec_of_level(&self, _: u8) -> Option<&'static str> {
        None
    }

    /// Returns whether the report of a build names the digest of the image.
    fn reports_digest(&self) -> bool {
        false
    }

    /// Resolves the options of a request for an image that is rewritten block by block.
    fn resolve(&self, format: &str, _: &BuildRequest, _: &Prepared) -> Result<CreateOptions> {
        let what = format!("{format} images are not written by the pipeline");
        Err(Error::unsupported(what))
    }

    /// Copies an image, with the header before it, and embeds a signature in the copy.
    fn sign(&self, _: &Arc<dyn ReadAt>, _: &str, _: &mut dyn Write) -> Result<()> {
        Err(Error::unsupported(
            "images of this format hold no signatures",
        ))
    }

    /// Returns the format, if the pipeline writes it.
    fn pipeline(&self) -> Option<&dyn PipelineFormat> {
        None
    }
}

impl<F: PipelineFormat> FormatWriter for F {
    fn build(&self, job: BuildJob<'_>, observer: &dyn Observer) -> Result<BuildReport> {
        pack(self, job, observer)
    }

    fn codec_of_level(&self, level: u8) -> Option<&'static str> {
        let level = self.level(level, Purpose::default(), &VolumeOptions::default());
        Some(level.ok()?.compression)
    }

    fn resolve(
        &self,
        format: &str,
        request: &BuildRequest,
        prepared: &Prepared,
    ) -> Result<CreateOptions> {
        create_options(request, format, self, prepared)
    }

    fn sign(&self, source: &Arc<dyn ReadAt>, text: &str, out: &mut dyn Write) -> Result<()> {
        PipelineFormat::sign(self, source, text, out)
    }

    fn pipeline(&self) -> Option<&dyn PipelineFormat> {
        Some(self)
    }
}
