//! Finds a record in a file of which parts may be damaged, missing or moved.
//!
//! In: the file of the record. Out: its layout and where its parts are. **Invariant:** a header is
//! believed only if its checksum is right.

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Kind, Result};

use crate::layout::{HEADER, MAGIC, ParityLayout};
use crate::shards::length;

/// Bytes that are searched at once.
const STEP: u64 = 1 << 20;

/// Bytes that are searched at once where more cannot be read.
const PAGE: u64 = 4096;

/// A record that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundRecord {
    /// Its numbers.
    pub layout: ParityLayout,
    /// The checksum of all checksums.
    pub(crate) set: u64,
    /// The distance of the header from its expected position, in bytes.
    pub(crate) moved: i64,
}

/// Searches a file for a header, from its end to its start; `None` if there is none. Pages that
/// cannot be read are passed over.
pub fn find(source: &dyn ReadAt) -> Result<Option<FoundRecord>> {
    let (mut end, mut is_failing) = (source.len(), false);
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let found = match header_in(source, start, end) {
            Ok(found) => found,
            Err(error) if error.kind() == Kind::Limit => return Err(error),
            Err(_) => {
                // attempts may take seconds each, and a record begins with a header
                let first = if is_failing {
                    None
                } else {
                    header_in(source, 0, 1).ok().flatten()
                };
                is_failing = true;
                first.or_else(|| header_by_pages(source, start, end))
            }
        };
        if found.is_some() {
            return Ok(found);
        }
        end = start;
    }
    Ok(None)
}

/// Searches a range that cannot be read as a whole, from its end to its start.
fn header_by_pages(source: &dyn ReadAt, start: u64, end: u64) -> Option<FoundRecord> {
    let mut end = end;
    while end > start {
        let page = ((end - 1) / PAGE * PAGE).max(start);
        let found = header_in(source, page, end).or_else(|_| {
            // the next page may be the one that cannot be read
            let mut bytes = vec![0; length(end - page)?];
            source.read_at(page, &mut bytes)?;
            Ok::<_, Error>(last_header(&bytes, page))
        });
        if let Ok(Some(found)) = found {
            return Some(found);
        }
        end = page;
    }
    None
}

/// Returns the last header that begins in a range.
fn header_in(source: &dyn ReadAt, start: u64, end: u64) -> Result<Option<FoundRecord>> {
    // it may end after the range
    let stop = source.len().min(end + HEADER as u64 - 1);
    let mut bytes = vec![0; length(stop - start)?];
    source.read_at(start, &mut bytes)?;
    Ok(last_header(&bytes, start))
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
