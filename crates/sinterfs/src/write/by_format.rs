//! Building an image by the writer of its format.

use sinterfs_model::{Observer, Result};

#[cfg(feature = "composefs")]
use crate::formats::options::FormatOptions;
use crate::write::job::BuildJob;
use crate::write::pack::pack;
use crate::write::report::BuildReport;

/// Builds an image. On an error nothing is left of it.
pub(crate) fn build_by_format(job: BuildJob<'_>, observer: &dyn Observer) -> Result<BuildReport> {
    match job.format {
        #[cfg(feature = "composefs")]
        FormatOptions::Composefs(own) => crate::composefs::build(own, job, observer),
        format => pack(format.by_pipeline()?, job, observer),
    }
}
