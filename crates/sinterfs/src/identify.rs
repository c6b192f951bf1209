//! What a source is: a compressed device, a disk with partitions, an image; and of which format.
//!
//! In: a source, and how it is to be opened. Out: the source of the image inside, its options, and
//! its format as far as that is known. **Invariant:** the first bytes of a source are compared with
//! each format once.

pub(crate) mod compressed_device;
mod identified;
pub(crate) mod partition;

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::Result;

use crate::open_options::OpenOptions;
pub(crate) use identified::{Identified, Start};

/// Turns the source of a compressed device into its content, and a disk into one of its partitions;
/// others stay what they are. Reads the first bytes, so it fails where they are damaged.
pub(crate) fn identify(source: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Identified> {
    let mut whole = device_content(source, options)?;
    let Some(found) = partition::content(&mut whole)? else {
        return Ok(whole);
    };
    // devices are compressed as disks are, and as what is in their partitions
    let mut inside = device_content(found.source, found.options)?;
    inside.disk = Some(found.chosen);
    Ok(inside)
}

/// Turns the source of a compressed device into its content; others stay what they are.
pub(crate) fn device_content(source: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Identified> {
    let mut whole = Identified::new(source, options);
    let content = compressed_device::content(&mut whole)?;
    Ok(content.unwrap_or(whole))
}
