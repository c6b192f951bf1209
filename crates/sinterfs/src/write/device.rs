//! Compressed devices: files that are read as block devices, whatever is in them.
//!
//! In: a file, and options. Out: the image of a device, whole or not at all.

use std::path::Path;

use sinterfs_block::{FileSource, ReadAt, Sink};
use sinterfs_cloop::{BlockCodec, WrittenVersion};
use sinterfs_model::{Observer, Result};

use crate::output::Output;
use crate::write::device_options::{DeviceCodec, DeviceOptions, DeviceReport};

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
    let written = compress(&source, &mut output.writer(), options, observer);
    let report = written.map_err(|error| match error.concerned_path() {
        Some(_) => error,
        None => error.path(image),
    })?;
    output.commit()?;
    Ok(report)
}

/// Compresses a device.
pub(crate) fn compress(
    device: &dyn ReadAt,
    out: &mut dyn Sink,
    options: DeviceOptions,
    observer: &dyn Observer,
) -> Result<DeviceReport> {
    let own = sinterfs_cloop::WriteOptions {
        block_size: options.block_size,
        version: match options.codec {
            DeviceCodec::Version2 => WrittenVersion::V2,
            DeviceCodec::Zlib => WrittenVersion::V4(BlockCodec::Zlib),
            DeviceCodec::Xz => WrittenVersion::V4(BlockCodec::Xz),
            DeviceCodec::Lz4 => WrittenVersion::V4(BlockCodec::Lz4),
            DeviceCodec::Lzo => WrittenVersion::V4(BlockCodec::Lzo),
        },
        level: options.level,
        threads: options.threads,
    };
    let written = sinterfs_cloop::write(device, out, own, observer)?;
    Ok(DeviceReport {
        blocks: written.blocks,
        device_len: written.device_len,
        stored: written.stored,
    })
}
