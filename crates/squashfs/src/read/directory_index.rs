//! The index of a directory, parsed.
//!
//! In: entries of an index. Out: the header at which to start reading.
//!
//! **Precondition:** entries ascend by offset and by name, checked when the index is read.
//! Format: `docs/formats/squashfs.md`, "Directories".

use crate::layout::MetaRef;

/// A header in a listing.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderPosition {
    /// The offset in the listing.
    pub(super) at: u32,
    pub(super) reference: MetaRef,
}

/// The index of one directory: 24 bytes per entry and the names.
#[derive(Debug)]
pub(crate) struct EntryIndex {
    pub(super) positions: Vec<(HeaderPosition, usize)>,
    pub(super) names: Vec<u8>,
}

impl EntryIndex {
    /// Returns the approximate memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        (self.names.len() + self.positions.len() * size_of::<(HeaderPosition, usize)>() + 64) as u64
    }

    pub(super) fn name(&self, number: usize) -> &[u8] {
        let end = |number: usize| self.positions.get(number).map_or(0, |(_, end)| *end);
        let start = number.checked_sub(1).map_or(0, end);
        self.names.get(start..end(number)).unwrap_or_default()
    }

    /// Returns the last header for which `before` holds, by bisection.
    pub(super) fn last(&self, before: impl Fn(&Self, usize) -> bool) -> Option<HeaderPosition> {
        let (mut start, mut end) = (0, self.positions.len());
        while start < end {
            let middle = start.midpoint(end);
            if before(self, middle) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        let number = start.checked_sub(1)?;
        self.positions.get(number).map(|(position, _)| *position)
    }
}
