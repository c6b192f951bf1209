//! The writer of an image: the pipeline, or the writer of composefs.
//!
//! In: a job, and the format of the new image. Out: the image, and the report. **Invariant:** on an
//! error nothing is left of the image.

#[cfg(not(feature = "composefs"))]
use sinterfs_model::Error;
use sinterfs_model::{Observer, Result};

use crate::formats::Writing;
use crate::write::job::BuildJob;
use crate::write::pack::pack;
use crate::write::report::BuildReport;

/// Writes an image.
pub(crate) fn write_image(
    new: Writing,
    job: BuildJob<'_>,
    observer: &dyn Observer,
) -> Result<BuildReport> {
    match new.pipeline {
        Some(format) => pack(format, job, observer),
        #[cfg(feature = "composefs")]
        None => super::build_composefs::build(job, observer),
        #[cfg(not(feature = "composefs"))]
        None => Err(Error::unsupported("this format is not written")),
    }
}
