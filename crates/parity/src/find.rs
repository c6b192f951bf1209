//! Finds a record in a file of which parts may be damaged, missing or moved.
//!
//! In: the file of the record. Out: its layout and where its parts are. **Invariant:** a header is
//! believed only if its checksum is right.

use sinterfs_block::ReadAt;
use sinterfs_model::Result;

use crate::layout::{HEADER, MAGIC, ParityLayout};
use crate::shards::length;

/// Bytes that are searched at once.
const STEP: u64 = 1 << 20;

/// A record that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundRecord {
    /// Its numbers.
    pub layout: ParityLayout,
    /// The checksum of all checksums.
    pub(crate) set: u64,
    /// How far the header that was found is from where it should be, in bytes.
    pub(crate) moved: i64,
}

/// Searches a file for a header, from its end to its start; `None` if there is none. Ranges that
/// cannot be read are passed over.
pub fn find(source: &dyn ReadAt) -> Result<Option<FoundRecord>> {
    let len = source.len();
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        // a header that begins in this range may end behind it
        let stop = len.min(end + HEADER as u64 - 1);
        let mut bytes = vec![0; length(stop - start)?];
        if source.read_at(start, &mut bytes).is_ok()
            && let Some(found) = last_header(&bytes, start)
        {
            return Ok(Some(found));
        }
        end = start;
    }
    Ok(None)
}

fn last_header(bytes: &[u8], start: u64) -> Option<FoundRecord> {
    let windows = bytes.windows(HEADER).enumerate().rev();
    let mut candidates = windows.filter(|(_, window)| window.starts_with(&MAGIC));
    candidates.find_map(|(at, window)| {
        let (layout, copy, set) = ParityLayout::parse(window.try_into().ok()?)?;
        let expected = layout.copy_offset(copy);
        let moved = i64::try_from(start.checked_add(at as u64)?).ok()?;
        let moved = moved.checked_sub(i64::try_from(expected).ok()?)?;
        Some(FoundRecord { layout, set, moved })
    })
}
