//! Compressed devices: files that are read as block devices, whatever is in them.

use std::path::Path;

use sinterfs_block::FileSource;
pub use sinterfs_cloop::{WriteOptions as DeviceOptions, WriteReport as DeviceReport};
use sinterfs_model::{Observer, Result};

use crate::write::output::Output;

/// Compresses a file into a device image of cloop, version 2.0.
///
/// # Errors
/// `Invalid` for options that cannot be and for an output that exists and is not to be replaced,
/// `Io` for files that cannot be read or written.
pub fn compress_device(
    device: &Path,
    image: &Path,
    replace: bool,
    options: DeviceOptions,
    observer: &dyn Observer,
) -> Result<DeviceReport> {
    let source = FileSource::open(device)?;
    let output = Output::create(image, replace)?;
    let written = sinterfs_cloop::write(&source, &mut output.writer(), options, observer);
    let report = written.map_err(|error| match error.concerned_path() {
        Some(_) => error,
        None => error.path(image),
    })?;
    output.commit()?;
    Ok(report)
}
