//! The location of each unit in the image.
//!
//! In: units in sequence as they are written. Out: the offset of anything stored with a unit.
//! **Invariant:** memory is 16 bytes for each unit, and some 16 for each pcluster of units that
//! share some of theirs.

use std::collections::BTreeMap;

use sinterfs_model::{Error, Result};

/// A unit in the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedUnit {
    /// Its offset.
    pub(super) start: u64,
    /// Stored bytes, without an inline tail.
    pub(super) stored: u32,
    /// Bytes of content.
    pub(super) raw: u32,
}

const _: () = assert!(size_of::<PlacedUnit>() == 16);

impl PlacedUnit {
    /// Returns the offset after the stored bytes.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.stored)
    }
}

/// The pclusters of a unit that are not all in a row, as some were stored before: their offsets in
/// the image, by those that they would have in the stored bytes of the unit.
pub(super) type MovedPclusters = BTreeMap<u32, u64>;

/// All units that were written.
#[derive(Debug, Default)]
pub(super) struct UnitTable {
    placed: Vec<PlacedUnit>,
    moved: BTreeMap<u32, MovedPclusters>,
}

impl UnitTable {
    /// Returns the number of units, which is the number of the next one.
    pub(super) fn len(&self) -> usize {
        self.placed.len()
    }

    /// Records the range of the image in which the next unit is, and its bytes of content.
    pub(super) fn push(&mut self, start: u64, end: u64, raw: u32) {
        self.placed.push(PlacedUnit {
            start,
            stored: (end - start) as u32,
            raw,
        });
    }

    /// Returns the offset behind all units.
    pub(super) fn end(&self) -> u64 {
        self.placed.iter().map(PlacedUnit::end).max().unwrap_or(0)
    }

    /// Records where the pclusters of a unit are that are not all in a row.
    pub(super) fn set_moved(&mut self, unit: u32, pclusters: MovedPclusters) {
        self.moved.insert(unit, pclusters);
    }

    /// Returns whether some unit shares pclusters with an earlier one.
    pub(super) fn has_moved(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Returns where a unit is.
    pub(super) fn get(&self, unit: u32) -> Result<PlacedUnit> {
        let placed = self.placed.get(unit as usize);
        let missing = || Error::invalid(format!("the map has block {unit}, which was not put"));
        placed.copied().ok_or_else(missing)
    }

    /// Returns the image offset of the pcluster at an offset in the stored bytes of a unit.
    pub(super) fn offset_of(&self, unit: u32, at: u32) -> Result<u64> {
        match self.moved.get(&unit) {
            Some(moved) => moved.get(&at).copied().ok_or_else(map_violates_geometry),
            None => Ok(self.get(unit)?.start + u64::from(at)),
        }
    }

    /// Moves all units by the given number of bytes.
    pub(super) fn move_by(&mut self, bytes: u64) {
        let placed = self.placed.iter_mut().map(|placed| &mut placed.start);
        let moved = self.moved.values_mut().flat_map(BTreeMap::values_mut);
        for start in placed.chain(moved) {
            *start = start.saturating_add(bytes);
        }
    }
}

/// Returns the error for a content map that does not match the requested units.
#[cold]
pub(super) fn map_violates_geometry() -> Error {
    Error::invalid("the content map does not follow the geometry")
}
