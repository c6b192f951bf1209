//! A slice for each of some units.
//!
//! In: slices in the sequence of units. Out: the slice of a unit. **Invariant:** memory holds all
//! items, and 8 bytes for each unit that has items.

use sinterfs_model::{Error, Result};

/// The slices of all units, one after the other.
#[derive(Debug)]
pub(super) struct SliceTable<T> {
    pub(super) items: Vec<T>,
    /// The units that have a slice, and where these begin.
    starts: Vec<(u32, u32)>,
}

impl<T> Default for SliceTable<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            starts: Vec::new(),
        }
    }
}

impl<T: Clone> SliceTable<T> {
    /// Adds the slice of the next unit, which may be empty.
    ///
    /// # Errors
    /// `Limit` for more items than an image of 16 TiB has.
    pub(super) fn push(&mut self, unit: u32, slice: &[T]) -> Result<()> {
        if slice.is_empty() {
            return Ok(());
        }
        let start = u32::try_from(self.items.len());
        let start = start.map_err(|_| Error::limit("an image of 16 TiB or more"))?;
        self.starts.push((unit, start));
        self.items.extend_from_slice(slice);
        Ok(())
    }

    /// Returns the slice of a unit; an empty one if none was added.
    pub(super) fn get(&self, unit: u32) -> &[T] {
        let Ok(at) = self.starts.binary_search_by_key(&unit, |entry| entry.0) else {
            return &[];
        };
        let start = |at: usize| self.starts.get(at).map(|entry| entry.1 as usize);
        let end = start(at + 1).unwrap_or(self.items.len());
        let range = start(at).unwrap_or(end)..end;
        self.items.get(range).unwrap_or_default()
    }
}
