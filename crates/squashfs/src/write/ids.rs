//! The table of owners and groups, to which inodes refer by 16-bit indexes.
//!
//! In: ids. Out: indexes, and the table. **Invariant:** ids are unique, in the order of first use.

use std::collections::HashMap;

use sinterfs_model::{Error, Result};
use zerocopy::little_endian::U16;

/// The largest number of ids: the superblock has 16 bits for it, and drivers refuse zero.
pub(super) const MAX_IDS: usize = u16::MAX as usize;

/// All ids so far.
#[derive(Debug, Default)]
pub(super) struct Ids {
    all: Vec<u32>,
    known: HashMap<u32, u16>,
}

impl Ids {
    /// Returns the index of an id. `Limit` if there are too many.
    pub(super) fn index(&mut self, id: u32) -> Result<U16> {
        if let Some(&index) = self.known.get(&id) {
            return Ok(U16::new(index));
        }
        let index = u16::try_from(self.all.len()).ok();
        let index = index.filter(|_| self.all.len() < MAX_IDS).ok_or_else(|| {
            Error::limit(format!(
                "more than {MAX_IDS} different owners and groups, the limit of a SquashFS image"
            ))
        })?;
        self.all.push(id);
        self.known.insert(id, index);
        Ok(U16::new(index))
    }

    /// Returns all ids by their index.
    pub(super) fn all(&self) -> &[u32] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_ids_as_the_superblock_counts() {
        let mut ids = Ids::default();
        for id in 0..MAX_IDS as u32 {
            assert_eq!(u32::from(ids.index(id * 7).unwrap().get()), id);
        }
        assert_eq!(ids.index(7).unwrap().get(), 1);
        let error = ids.index(1).unwrap_err();
        assert_eq!(error.kind(), sinterfs_model::Kind::Limit);
        assert_eq!(ids.all().len(), MAX_IDS);
    }
}
