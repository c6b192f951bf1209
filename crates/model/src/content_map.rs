//! The content map: where the content of every file went, in decoded terms.
//!
//! **Invariant:** lists cover all extents, in order and without gaps. Only the writer of the image
//! knows where decoded bytes are stored.

use crate::{BlockId, Error, NodeId, Result};

/// A range of a file in decoded terms; the writer finds the stored bytes when it finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapExtent {
    /// Decoded bytes of a block.
    Data {
        /// The block; need not have been put yet when the extent is made.
        block: BlockId,
        /// Offset in the decoded block.
        offset: u32,
        /// Length in bytes, above zero.
        len: u32,
    },
    /// Zeros that are not stored.
    Hole {
        /// Length in bytes, above zero.
        len: u64,
    },
}

/// The locations of the content of every file; equal files share one list.
#[derive(Debug, Default)]
pub struct ContentMap {
    extents: Vec<MapExtent>,
    /// Start of each list in `extents`, with the end of the last.
    starts: Vec<u64>,
    /// The list of each node; `NONE` for nodes without content.
    lists: Vec<u32>,
}

impl ContentMap {
    const NONE: u32 = u32::MAX;

    /// Makes an empty map for a tree of `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            extents: Vec::new(),
            starts: vec![0],
            lists: vec![Self::NONE; nodes],
        }
    }

    /// Makes a map with lists that follow each other in `extents`, each up to one of `ends`; lists
    /// are numbered in this order.
    ///
    /// # Errors
    /// `Invalid` if the ends are not ascending, or the last is not the number of extents.
    pub fn with_lists(
        nodes: usize,
        extents: Vec<MapExtent>,
        ends: impl Iterator<Item = u64>,
    ) -> Result<Self> {
        let starts: Vec<u64> = std::iter::once(0).chain(ends).collect();
        if !starts.is_sorted() || starts.last() != Some(&(extents.len() as u64)) {
            return Err(Error::invalid("the lists do not cover the extents"));
        }
        Ok(Self {
            extents,
            starts,
            lists: vec![Self::NONE; nodes],
        })
    }

    /// Adds a list of extents and returns its number.
    pub fn push(&mut self, extents: &[MapExtent]) -> u32 {
        let id = self.list_count();
        self.extents.extend_from_slice(extents);
        self.starts.push(self.extents.len() as u64);
        id
    }

    /// Sets the list of a file.
    pub fn assign(&mut self, file: NodeId, list: u32) {
        if let Some(assigned) = self.lists.get_mut(file.index()) {
            *assigned = list;
        }
    }

    /// Returns the number of lists.
    pub fn list_count(&self) -> u32 {
        u32::try_from(self.starts.len().saturating_sub(1)).unwrap_or(Self::NONE)
    }

    /// Returns the list of a file; `None` if it has none (the file vanished, or it is not a file).
    pub fn list_of(&self, file: NodeId) -> Option<u32> {
        self.lists
            .get(file.index())
            .copied()
            .filter(|&list| list != Self::NONE)
    }

    /// Returns the extents of a list; none for a number that no list has.
    pub fn list(&self, list: u32) -> &[MapExtent] {
        let index = list as usize;
        let start = |index: usize| usize::try_from(*self.starts.get(index)?).ok();
        let range = start(index).zip(start(index.saturating_add(1)));
        let extents = range.and_then(|(start, end)| self.extents.get(start..end));
        extents.unwrap_or_default()
    }

    /// Returns the extents of a file; none if it has no list.
    pub fn extents(&self, file: NodeId) -> &[MapExtent] {
        self.list_of(file).map_or(&[], |list| self.list(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_share_a_list() {
        let mut map = ContentMap::new(3);
        let list = map.push(&[
            MapExtent::Hole { len: 5 << 32 },
            MapExtent::Data {
                block: BlockId(1),
                offset: 4,
                len: 6,
            },
        ]);
        let empty = map.push(&[]);
        map.assign(NodeId(1), list);
        map.assign(NodeId(2), list);
        assert_eq!(map.list_of(NodeId(0)), None);
        assert_eq!(map.extents(NodeId(0)), &[]);
        assert_eq!(map.extents(NodeId(1)), map.extents(NodeId(2)));
        assert_eq!(map.extents(NodeId(1)).len(), 2);
        assert_eq!(map.list(empty), &[]);
        assert_eq!(map.list_count(), 2);

        let extents = [map.list(list), map.list(list)].concat();
        let lists = |ends: &[u64]| ContentMap::with_lists(1, extents.clone(), ends.iter().copied());
        let same = lists(&[2, 2, 4]).unwrap();
        assert_eq!(same.list_count(), 3);
        assert_eq!((same.list(0), same.list(1)), (map.list(list), &[][..]));
        assert_eq!(same.list(2), map.list(list));
        assert!(lists(&[3, 2, 4]).is_err() && lists(&[2, 3]).is_err() && lists(&[]).is_err());
    }
}
