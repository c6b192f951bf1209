//! Finds the image in a file: behind a program (AppImage), or whatever else lies before it.
//!
//! In: a source. Out: where the superblock is.
//!
//! **Invariant:** within a file the magic alone is never believed: the superblock must be sound, and the
//! root must be a directory.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::Result;

use super::image_core::ImageCore;
use super::superblock::magic;

/// Bytes that are searched at once.
const STEP: usize = 1 << 18;

/// Bytes of the magic.
const MAGIC_LEN: usize = 4;

/// Returns whether the magic stands at an offset.
pub fn starts_with_magic(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let mut bytes = [0; MAGIC_LEN];
    if source.len().saturating_sub(offset) < bytes.len() as u64 {
        return Ok(false);
    }
    source.read_at(offset, &mut bytes)?;
    Ok(magic(&bytes).is_some())
}

/// Finds the first place where an image starts; `None` if there is none.
///
/// A source that begins with the magic is taken for an image even if it is damaged: one further on
/// would be inside of it. Otherwise reads the source from its start to the place that is found.
pub fn locate(source: &Arc<dyn ReadAt>) -> Result<Option<u64>> {
    if starts_with_magic(&**source, 0)? {
        return Ok(Some(0));
    }
    let len = source.len();
    let mut buf = vec![0; STEP];
    let mut start = 0;
    while start < len {
        let want = usize::try_from(len - start).map_or(STEP, |left| left.min(STEP));
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
        // a magic across the border of two windows is seen whole in the second
        let step = want.saturating_sub(MAGIC_LEN - 1);
        if want < STEP {
            break;
        }
        start = start.saturating_add(step as u64);
    }
    Ok(None)
}

/// Lists where the magic stands, in either order: `hsqs` and `sqsh` have their `q` and `s` in common.
fn candidates(window: &[u8]) -> impl Iterator<Item = usize> {
    window
        .windows(MAGIC_LEN)
        .enumerate()
        .filter(|(_, bytes)| matches!(*bytes, b"hsqs" | b"sqsh"))
        .map(|(at, _)| at)
}

/// Returns whether a sound image starts at an offset.
fn starts_here(source: &Arc<dyn ReadAt>, offset: u64) -> bool {
    ImageCore::open(Arc::clone(source), offset, 0).is_ok()
}
