//! The sections of an image that are as they were written.
//!
//! In: a source. Out: the ranges of sections whose checksum is right. **Invariant:** a section that
//! has no checksum, or cannot be read, is not among them.

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::Result;

use crate::read::{Dwarfs, ReadOptions};

/// Returns the ranges of the file that have sections with the checksum that their header says, as
/// far as sections follow each other.
///
/// # Errors
/// Those of finding an image.
pub fn intact_sections(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Vec<Range<u64>>> {
    let reader = Dwarfs::find(source, options)?;
    let mut intact = Vec::new();
    for section in reader.walk() {
        let Ok((header, range)) = section else { break };
        if let Ok(Some(true)) = reader.sha512_256_matches(range, &header) {
            let start = reader.file_offset(range.offset);
            intact.push(start..start.saturating_add(range.len));
        }
    }
    Ok(intact)
}
