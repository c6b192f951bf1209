//! Encoded units: the pclusters that the content of a unit is decoded from, some of which may be
//! stored with earlier units.
//!
//! In: each unit when it is encoded. Out: any unit, if need be when it has been encoded.
//! **Invariant:** units are begun in sequence and wait only for earlier ones, so the earliest never
//! waits; if one fails, all waiting units fail. Memory: 24 bytes for each reference.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use sinterfs_model::{Error, Kind, Result, StoredPart};

use super::limits::BLOCK;

/// A range of a unit's content and the pcluster that it is decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PclusterRef {
    /// The offset of the range in the unit.
    pub(super) start: u32,
    /// The bytes of the range.
    pub(super) raw: u32,
    /// The bytes of content that the pcluster holds, of which the range is the first part.
    pub(super) whole: u32,
    /// The stored bytes of the pcluster; fewer than `whole` if it is compressed.
    pub(super) stored: u32,
    /// The unit that the pcluster is stored with.
    pub(super) unit: u32,
    /// The offset of the pcluster in the stored bytes of that unit.
    pub(super) at: u32,
}

const _: () = assert!(size_of::<PclusterRef>() == 24);

impl PclusterRef {
    /// Refers to all content of a pcluster: where it begins in the unit that is described, and in
    /// the stored bytes of the unit that it is stored with.
    pub(super) fn new(start: u32, (unit, at): (u32, u32), lens: StoredPart) -> Self {
        Self {
            start,
            raw: lens.decoded_len,
            whole: lens.decoded_len,
            stored: lens.stored_len,
            unit,
            at,
        }
    }

    /// Returns whether the content is stored uncompressed.
    pub(super) fn is_plain(&self) -> bool {
        self.whole <= self.stored
    }

    /// Returns whether readers have to stop before the end of the pcluster's content.
    pub(super) fn is_partial(&self) -> bool {
        self.raw < self.whole && !self.is_plain()
    }

    /// Returns the offset of the first byte after the range.
    pub(super) fn end(&self) -> u32 {
        self.start + self.raw
    }
}

/// A unit that was encoded.
#[derive(Debug, Clone)]
pub(super) struct EncodedUnit {
    /// The locations of its content, in the order of the content.
    pub(super) refs: Arc<[PclusterRef]>,
    /// Whether the unit is stored uncompressed as a whole.
    pub(super) is_flat: bool,
    /// The last pcluster, or the tail of a flat unit, if it may go after the inode. No later unit
    /// refers to it.
    pub(super) inline: Option<StoredPart>,
}

impl EncodedUnit {
    /// Describes a unit that consists of the pieces of its block. The last one is an inline tail if
    /// it does not fill whole blocks.
    pub(super) fn from_pieces(unit: u32, pieces: &[StoredPart]) -> Self {
        let (pieces, inline) = match pieces.split_last() {
            Some((last, before)) if !fills_blocks(last) => (before, Some(*last)),
            _ => (pieces, None),
        };
        Self {
            refs: refs_in_row(unit, pieces.iter().copied()),
            is_flat: false,
            inline,
        }
    }

    /// Returns the bytes of content that the references cover.
    pub(super) fn len_in_refs(&self) -> u32 {
        self.refs.last().map_or(0, PclusterRef::end)
    }

    /// Returns the bytes of content without a shared tail.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.len_in_refs() + self.inline.map_or(0, |tail| tail.decoded_len))
    }

    /// Iterates over the pclusters that are stored with the unit, whose number this is, in order.
    pub(super) fn own_pclusters(&self, unit: u32) -> impl Iterator<Item = &PclusterRef> {
        let mut end = 0;
        self.refs.iter().filter(move |pcluster| {
            let is_next = pcluster.unit == unit && pcluster.at == end;
            end += if is_next { pcluster.stored } else { 0 };
            is_next
        })
    }
}

/// Returns the lengths of a piece of at most 4 MiB.
pub(super) fn piece(raw: usize, stored: usize) -> StoredPart {
    StoredPart {
        decoded_len: raw as u32,
        stored_len: stored as u32,
    }
}

/// Returns the references to pieces that are stored with a unit one after the other.
pub(super) fn refs_in_row(
    unit: u32,
    pieces: impl IntoIterator<Item = StoredPart>,
) -> Arc<[PclusterRef]> {
    let (mut start, mut at) = (0, 0);
    let refs = pieces.into_iter().map(|piece| {
        let pcluster = PclusterRef::new(start, (unit, at), piece);
        start += piece.decoded_len;
        at += piece.stored_len;
        pcluster
    });
    refs.collect()
}

/// Returns the references to a unit that is stored uncompressed in blocks, up to a length.
pub(super) fn flat_refs(unit: u32, len: usize) -> Arc<[PclusterRef]> {
    const BYTES: usize = BLOCK as usize;
    let starts = (0..len).step_by(BYTES);
    refs_in_row(
        unit,
        starts.map(|start| piece((len - start).min(BYTES), BYTES)),
    )
}

fn fills_blocks(piece: &StoredPart) -> bool {
    u64::from(piece.stored_len).is_multiple_of(BLOCK)
}

/// All units that were encoded.
#[derive(Debug, Default)]
pub(super) struct EncodedUnits {
    state: Mutex<EncodedState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct EncodedState {
    units: Vec<Option<EncodedUnit>>,
    has_failed: bool,
}

impl EncodedUnits {
    fn lock(&self) -> MutexGuard<'_, EncodedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what a unit was encoded to.
    pub(super) fn insert(&self, unit: u32, encoded: EncodedUnit) {
        let mut state = self.lock();
        let at = unit as usize;
        if state.units.len() <= at {
            state.units.resize(at + 1, None);
        }
        if let Some(entry) = state.units.get_mut(at) {
            *entry = Some(encoded);
        }
        self.changed.notify_all();
    }

    /// Makes every present and later wait for a missing unit fail.
    pub(super) fn fail(&self) {
        self.lock().has_failed = true;
        self.changed.notify_all();
    }

    /// Returns an earlier unit, waiting until it has been encoded. Fails with `Cancelled` if it
    /// never will be.
    pub(super) fn wait(&self, unit: u32) -> Result<EncodedUnit> {
        let mut state = self.lock();
        loop {
            if let Some(Some(encoded)) = state.units.get(unit as usize) {
                return Ok(encoded.clone());
            }
            if state.has_failed {
                let what = "a unit that is referred to was not encoded";
                return Err(Error::new(Kind::Cancelled, what));
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns a unit if it has been encoded.
    pub(super) fn get(&self, unit: u32) -> Option<EncodedUnit> {
        self.lock().units.get(unit as usize).cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_unit_or_with_failure() {
        let units = EncodedUnits::default();
        let pcluster = PclusterRef::new(0, (1, 0), piece(5, 5));
        let encoded = EncodedUnit {
            refs: Arc::new([pcluster]),
            is_flat: true,
            inline: None,
        };
        std::thread::scope(|scope| {
            let first = || units.wait(1).map(|unit| unit.refs.to_vec());
            let second = || units.wait(2).map(|_| ()).map_err(|error| error.kind());
            let waiting = sinterfs_workers::spawn(scope, "wait", first).unwrap();
            let never = sinterfs_workers::spawn(scope, "wait", second).unwrap();
            units.insert(1, encoded);
            assert_eq!(waiting.join().unwrap().unwrap(), [pcluster]);
            units.fail();
            assert_eq!(never.join().unwrap(), Err(Kind::Cancelled));
        });
        assert!(units.wait(1).is_ok() && units.get(0).is_none() && units.get(9).is_none());
    }

    #[test]
    fn pieces_become_references_and_an_inline_tail() {
        let unit = EncodedUnit::from_pieces(7, &[piece(9000, 4096), piece(500, 120)]);
        assert_eq!((unit.refs.len(), unit.len_in_refs()), (1, 9000));
        assert_eq!(unit.inline, Some(piece(500, 120)));
        let unit = EncodedUnit::from_pieces(7, &[piece(9000, 4096), piece(8000, 8192)]);
        assert_eq!((unit.len_in_refs(), unit.inline), (17_000, None));
        let last = unit.refs[1];
        assert_eq!((last.start, last.at, last.is_plain()), (9000, 4096, true));
        assert_eq!(flat_refs(3, 5000)[1].raw, 904);
    }
}
