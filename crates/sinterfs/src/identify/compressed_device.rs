//! Compressed devices of cloop: what is opened is the image inside.
//!
//! In: a source that may be such a device. Out: its content, and how an image in it is opened.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_cloop::{CloopDevice, is_image, is_image_by_end};
use sinterfs_model::Result;

use super::identified::Identified;
use crate::open_options::{OpenOptions, shared_cache};

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
