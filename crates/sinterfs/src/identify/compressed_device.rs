//! Compressed devices of cloop: what is opened is the image inside.
//!
//! In: a source that may be such a device, or what becomes one. Out: its content, and how an image
//! in it is opened; a new device.

use std::sync::Arc;

use sinterfs_block::ReadAt;
#[cfg(feature = "write")]
use sinterfs_block::Sink;
#[cfg(feature = "write")]
use sinterfs_cloop::{BlockCodec, WrittenVersion};
use sinterfs_cloop::{CloopDevice, is_image, is_image_by_end};
#[cfg(feature = "write")]
use sinterfs_model::Observer;
use sinterfs_model::Result;

use super::identified::Identified;
use crate::open_options::{OpenOptions, shared_cache};
#[cfg(feature = "write")]
use crate::write::device_options::{DeviceCodec, DeviceOptions, DeviceReport};

/// The name of compressed devices.
pub(super) const NAME: &str = "cloop";

/// Returns whether a source begins with the header of a compressed device.
pub(super) fn is_device(source: &dyn ReadAt) -> Result<bool> {
    is_image(source, 0)
}

/// Returns the content of a compressed device, whose blocks share the cache with those of the image
/// inside; `None` for other sources.
pub(super) fn content(whole: &mut Identified) -> Result<Option<Identified>> {
    let offset = whole.options.start_offset();
    // the end is looked at last: it may be far, and a whole file follows it
    let is_device = is_image(&*whole.source, offset)?
        || (!whole.is_known()? && is_image_by_end(&*whole.source, offset)?);
    if !is_device {
        return Ok(None);
    }
    let options = &whole.options;
    let cache = options.cache.clone();
    let cache = cache.unwrap_or_else(|| shared_cache(options.cache_bytes));
    let own = sinterfs_cloop::OpenOptions {
        offset,
        limits: options.limits,
        cache: Arc::clone(&cache),
    };
    let device = CloopDevice::open(Arc::clone(&whole.source), &own)?;
    let inside = OpenOptions {
        offset: None,
        len: None,
        cache: Some(cache),
        ..options.clone()
    };
    Ok(Some(Identified::new(Arc::new(device), inside)))
}

/// Compresses a device.
#[cfg(feature = "write")]
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
