//! The settings of a request's level for a format.

use sinterfs_format::{Level, PipelineFormat};
use sinterfs_model::Result;

use crate::write::request::BuildRequest;

/// Returns the settings of a request's level and compression.
pub(crate) fn level_of(
    format: &dyn PipelineFormat,
    request: &BuildRequest,
) -> Result<&'static Level> {
    let level = format.level(request.level)?;
    Ok(match &request.compression {
        Some(compression) => format.with_compression(level, compression),
        None => level,
    })
}
