//! Finds the image in a file, after a program (AppImage) or any other header.
//!
//! In: a source. Out: the offset of the superblock.
//!
//! **Invariant:** past the start of a file the magic number is not enough to identify an image: the
//! superblock must be valid, and the root must be a directory.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::Result;

use super::image_core::ImageCore;
use super::superblock::magic;

/// The number of bytes searched at once.
const SEARCH_LEN: usize = 1 << 18;

/// The length of the magic in bytes.
const MAGIC_LEN: usize = 4;

/// Returns whether the magic is at an offset.
pub fn starts_with_magic(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let mut bytes = [0; MAGIC_LEN];
    if source.len().saturating_sub(offset) < bytes.len() as u64 {
        return Ok(false);
    }
    source.read_at(offset, &mut bytes)?;
    Ok(magic(&bytes).is_some())
}

/// Returns the offset of the first image; `None` if there is none.
///
/// A source that begins with the magic is an image even if it is damaged: an image after that
/// offset would be part of its content. Otherwise reads the source from its start to the offset
/// found.
pub fn locate(source: &Arc<dyn ReadAt>) -> Result<Option<u64>> {
    if starts_with_magic(&**source, 0)? {
        return Ok(Some(0));
    }
    let len = source.len();
    let mut buf = vec![0; SEARCH_LEN];
    let mut start = 0;
    while start < len {
        let want = usize::try_from(len - start).map_or(SEARCH_LEN, |left| left.min(SEARCH_LEN));
        let Some(window) = buf.get_mut(..want) else {
            break;
        };
        source.read_at(start, window)?;
        for found in candidates(window) {
            let offset = start.saturating_add(found as u64);
            if starts_here(source, offset) {
                return Ok(Some(offset));
            }
        }
        // windows overlap, so that a magic across their border is found in the second
        let step = want.saturating_sub(MAGIC_LEN - 1);
        if want < SEARCH_LEN {
            break;
        }
        start = start.saturating_add(step as u64);
    }
    Ok(None)
}

/// Returns the offsets of the magic in either byte order.
fn candidates(window: &[u8]) -> impl Iterator<Item = usize> {
    window
        .windows(MAGIC_LEN)
        .enumerate()
        .filter(|(_, bytes)| matches!(*bytes, b"hsqs" | b"sqsh"))
        .map(|(at, _)| at)
}

/// Returns whether a valid image starts at an offset.
fn starts_here(source: &Arc<dyn ReadAt>, offset: u64) -> bool {
    ImageCore::open(Arc::clone(source), offset, 0).is_ok()
}
