//! Compressed devices: files that are read as block devices, whatever is in them.
//!
//! In: a file, and options. Out: the image of a device, whole or not at all.

use std::path::Path;

use sinterfs_block::FileSource;
use sinterfs_model::{Observer, Result};

use crate::identify::compressed_device;
use crate::write::device_options::{DeviceOptions, DeviceReport};
use crate::write::output::Output;

/// Compresses a file into a device image of cloop.
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
    let written = compressed_device::compress(&source, &mut output.writer(), options, observer);
    let report = written.map_err(|error| match error.concerned_path() {
        Some(_) => error,
        None => error.path(image),
    })?;
    output.commit()?;
    Ok(report)
}
