//! The pieces of units that refer to no others.
//!
//! In: blocks in sequence. Out: the pieces of a unit. **Invariant:** memory is 8 bytes for each
//! piece and for each unit that has some.

use sinterfs_model::{Error, Result, StoredPart};

/// The pieces of all units, one after the other.
#[derive(Debug, Default)]
pub(super) struct PieceTable {
    pieces: Vec<StoredPart>,
    /// The units that have pieces, and where these begin.
    starts: Vec<(u32, u32)>,
}

impl PieceTable {
    /// Adds the pieces of the next unit, which may have none.
    ///
    /// # Errors
    /// `Limit` for more pieces than an image of 16 TiB has.
    pub(super) fn push(&mut self, unit: u32, pieces: &[StoredPart]) -> Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        let start = u32::try_from(self.pieces.len());
        let start = start.map_err(|_| Error::limit("an image of 16 TiB or more"))?;
        self.starts.push((unit, start));
        self.pieces.extend_from_slice(pieces);
        Ok(())
    }

    /// Returns the pieces of a unit; none if it is stored as a whole.
    pub(super) fn get(&self, unit: u32) -> &[StoredPart] {
        let Ok(at) = self.starts.binary_search_by_key(&unit, |entry| entry.0) else {
            return &[];
        };
        let start = |at: usize| self.starts.get(at).map(|entry| entry.1 as usize);
        let end = start(at + 1).unwrap_or(self.pieces.len());
        let range = start(at).unwrap_or(end)..end;
        self.pieces.get(range).unwrap_or_default()
    }
}
