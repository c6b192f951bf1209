//! The writer of formats that are read only.

use sinterfs_model::{Error, Observer, Result};

use crate::write::format_writer::FormatWriter;
use crate::write::job::BuildJob;
use crate::write::report::BuildReport;

/// Refuses to make images.
pub(super) struct ReadOnly;

impl FormatWriter for ReadOnly {
    fn build(&self, _: BuildJob<'_>, _: &dyn Observer) -> Result<BuildReport> {
        Err(Error::unsupported(
            "images of this format are read, but not written",
        ))
    }
}
