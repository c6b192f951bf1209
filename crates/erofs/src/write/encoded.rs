//! What units became, told by the threads that encode to each other and to the writer: the clusters and
//! extents that content was cut into, some of which are those of earlier units.
//!
//! In: the parts of each unit when it is encoded. Out: those of any unit, if need be when they are known.
//! **Invariant:** units are begun in sequence and wait for earlier ones alone, so that the earliest never
//! waits; if one fails, all that wait do. Memory: 24 bytes a part.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use sinterfs_model::{Error, Kind, Piece, Result};

use super::BLOCK;

/// Content of a unit that readers decode together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Where it begins in the unit.
    pub(super) start: u32,
    /// Bytes of content.
    pub(super) raw: u32,
    /// Bytes of all content that is stored there, of which these are the first.
    pub(super) whole: u32,
    /// Stored bytes; fewer than `whole` if encoded.
    pub(super) stored: u32,
    /// The unit that it is stored with.
    pub(super) unit: u32,
    /// Where in what is stored of that.
    pub(super) at: u32,
}

const _: () = assert!(size_of::<Part>() == 24);

impl Part {
    /// Returns whether the bytes are stored as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.whole <= self.stored
    }

    /// Returns whether readers have to stop before the end of what is encoded.
    pub(super) fn is_partial(&self) -> bool {
        self.raw < self.whole && !self.is_plain()
    }

    /// Returns where it ends in the unit.
    pub(super) fn end(&self) -> u32 {
        self.start + self.raw
    }
}

/// A unit that was encoded.
#[derive(Debug, Clone)]
pub(super) struct Encoded {
    pub(super) parts: Arc<[Part]>,
    /// Whether it is stored as it is, all of it.
    pub(super) is_flat: bool,
    /// The last cluster, or the end of what is stored as it is, if that may go behind the inode, where nobody finds
    /// it.
    pub(super) inline: Option<Piece>,
}

/// A cluster of a unit's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cluster {
    /// Where it begins in what is stored of the unit.
    pub(super) at: u32,
    /// Stored bytes.
    pub(super) stored: u32,
    /// Bytes of content.
    pub(super) raw: u32,
}

impl Encoded {
    /// Lists the clusters in blocks that are stored with the unit, which is this one, in their order.
    pub(super) fn clusters(&self, unit: u32) -> impl Iterator<Item = Cluster> {
        let mut end = 0;
        self.parts.iter().filter_map(move |part| {
            let is_next = part.unit == unit && part.at == end;
            end += if is_next { part.stored } else { 0 };
            is_next.then_some(Cluster {
                at: part.at,
                stored: part.stored,
                raw: part.whole,
            })
        })
    }
}

/// Lists the pieces of a unit that are clusters in blocks.
pub(super) fn clusters(pieces: &[Piece]) -> impl Iterator<Item = Cluster> {
    let mut at = 0;
    let in_blocks = |piece: &&Piece| u64::from(piece.stored_len).is_multiple_of(BLOCK);
    pieces.iter().filter(in_blocks).map(move |piece| {
        let cluster = Cluster {
            at,
            stored: piece.stored_len,
            raw: piece.raw_len,
        };
        at += piece.stored_len;
        cluster
    })
}

/// All units that were encoded.
#[derive(Debug, Default)]
pub(super) struct Parts {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    units: Vec<Option<Encoded>>,
    has_failed: bool,
}

impl Parts {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what a unit became.
    pub(super) fn tell(&self, unit: u32, encoded: Encoded) {
        let mut known = self.lock();
        let at = unit as usize;
        if known.units.len() <= at {
            known.units.resize(at + 1, None);
        }
        if let Some(place) = known.units.get_mut(at) {
            *place = Some(encoded);
        }
        self.changed.notify_all();
    }

    /// Says that not all units will be known.
    pub(super) fn fail(&self) {
        self.lock().has_failed = true;
        self.changed.notify_all();
    }

    /// Returns what an earlier unit became, when that is known. `Cancelled` if it never will be.
    pub(super) fn wait(&self, unit: u32) -> Result<Encoded> {
        let mut known = self.lock();
        loop {
            if let Some(Some(encoded)) = known.units.get(unit as usize) {
                return Ok(encoded.clone());
            }
            if known.has_failed {
                let what = "what a unit repeats was not encoded";
                return Err(Error::new(Kind::Cancelled, what));
            }
            let woken = self.changed.wait(known);
            known = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns what a unit became that was put.
    pub(super) fn get(&self, unit: u32) -> Option<Encoded> {
        self.lock().units.get(unit as usize).cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_gets_it_or_fails() {
        let parts = Parts::default();
        let part = Part {
            start: 0,
            raw: 5,
            whole: 5,
            stored: 5,
            unit: 1,
            at: 0,
        };
        let encoded = Encoded {
            parts: Arc::new([part]),
            is_flat: true,
            inline: None,
        };
        std::thread::scope(|scope| {
            let first = || parts.wait(1).map(|unit| unit.parts.to_vec());
            let second = || parts.wait(2).map(|_| ()).map_err(|error| error.kind());
            let waiting = sinterfs_workers::spawn(scope, "wait", first).unwrap();
            let never = sinterfs_workers::spawn(scope, "wait", second).unwrap();
            parts.tell(1, encoded);
            assert_eq!(waiting.join().unwrap().unwrap(), [part]);
            parts.fail();
            assert_eq!(never.join().unwrap(), Err(Kind::Cancelled));
        });
        assert!(parts.wait(1).is_ok() && parts.get(0).is_none() && parts.get(9).is_none());
    }
}
