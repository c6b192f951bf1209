//! Where a DwarFS image begins in its file.

use sinterfs_block::ReadAt;
use sinterfs_format::ReadOptions;
use sinterfs_model::Result;

const MAGIC: &[u8] = b"DWARFS\x02";

/// Returns whether the magic of DwarFS is at an offset.
pub(super) fn starts_with_magic(source: &dyn ReadAt, at: u64) -> Result<bool> {
    let mut head = [0; MAGIC.len()];
    if source.len().saturating_sub(at) >= head.len() as u64 {
        source.read_at(at, &mut head)?;
    }
    Ok(head == MAGIC)
}

/// Finds the image for these options. Where no sound image is found but one begins the file, it
/// is a damaged one, and opening it reports where.
pub(super) fn located(source: &dyn ReadAt, options: &ReadOptions) -> Result<ReadOptions> {
    let found = match options.offset {
        Some(offset) => Some(offset),
        None => crate::read::locate(source)?,
    };
    let offset = match found {
        Some(offset) => Some(offset),
        None => starts_with_magic(source, 0)?.then_some(0),
    };
    Ok(ReadOptions {
        offset,
        ..options.clone()
    })
}
