//! Where a DwarFS image begins in its file.

use sinterfs_block::ReadAt;
use sinterfs_format::ReadOptions;
use sinterfs_model::Result;

use crate::read::Offset;

const MAGIC: &[u8] = b"DWARFS\x02";

/// Returns whether the magic of DwarFS is at an offset.
pub(super) fn starts_with_magic(source: &dyn ReadAt, at: u64) -> Result<bool> {
    let mut head = [0; MAGIC.len()];
    if source.len().saturating_sub(at) >= head.len() as u64 {
        source.read_at(at, &mut head)?;
    }
    Ok(head == MAGIC)
}

/// Turns our options into the format's. Where no sound image is found but one begins the file, it
/// is a damaged one, and opening it reports where.
pub(super) fn own_options(
    source: &dyn ReadAt,
    options: &ReadOptions,
) -> Result<crate::read::OpenOptions> {
    let found = match options.offset {
        Some(offset) => Some(offset),
        None => crate::read::locate(source)?,
    };
    let offset = match found {
        Some(offset) => Offset::At(offset),
        None if starts_with_magic(source, 0)? => Offset::At(0),
        None => Offset::Auto,
    };
    Ok(crate::read::OpenOptions {
        offset,
        len: options.len,
        limits: options.limits,
        cache_bytes: options.cache_bytes,
        cache: options.cache.clone(),
        salvage: options.salvage,
        sections: options.sections.clone(),
    })
}
