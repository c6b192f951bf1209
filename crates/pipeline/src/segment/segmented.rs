//! The result of cutting content: the extents of each content, in the numbers of segments.
//!
//! **Invariant:** segments are numbered from 0 without gaps, and one number remains free for those
//! that mean "none" (`number` refuses the last ones).

use sinterfs_model::{Error, MapExtent, Result};

use super::base_follow::BaseUsage;

/// The extents of one content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtentList {
    /// The end of its extents in `Segmented::extents`; they begin at the end of the previous list.
    pub end: u64,
    /// Its length in bytes, holes included.
    pub size: u64,
}

/// The result of cutting all content.
#[derive(Debug, Default)]
pub(crate) struct Segmented {
    /// The extents of all lists; blocks are numbers of segments.
    pub extents: Vec<MapExtent>,
    /// One list for each content, in order.
    pub lists: Vec<ExtentList>,
    /// The number of segments.
    pub segments: u32,
    /// Bytes that matched stored content and were not stored again.
    pub matched: u64,
    /// The parts of the base that the extents use.
    pub used: BaseUsage,
}

impl Segmented {
    /// Returns the number of the next segment.
    pub(super) fn number(&mut self) -> Result<u32> {
        let number = self.segments;
        self.segments = number
            .checked_add(1)
            .filter(|&count| count < u32::MAX)
            .ok_or_else(|| Error::limit("more than 4294967294 blocks; choose larger ones"))?;
        Ok(number)
    }
}
