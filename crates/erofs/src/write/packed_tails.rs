//! What is left of files behind their last full clusters, put together in the packed inode.
//!
//! In: what each unit leaves, from many threads. Out: groups of that, cut into clusters by the thread that gave what
//! was missing of them, and where each unit's rest is. **Invariant:** groups depend on the sequence of units alone;
//! a group is encoded before the unit that closed it reaches the writer, so nobody waits. Memory: 24 bytes a rest, 50 to
//! 90 for each that may come again, up to 45 MB, and rests and groups of units that are on their way to the writer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sinterfs_block::checksum::sha512_256;
use sinterfs_model::Result;

use super::BLOCK;
use super::compression::Compression;
use super::digest_index::Repeats;
use super::search::{self, Cut, Leaves};

/// The longest rest: longer ones are read faster alone, and what their last clusters waste is little.
pub(super) const REST_MAX: u32 = 128 << 10;

/// Bytes of a group at most, but for what fills it up.
pub(super) const GROUP: usize = 1 << 20;

/// What content of the packed inode is filled up to multiples of. Its units and groups are not next to each other in
/// the image, and the blocks of a pack of indexes, which is of two blocks at least, have to be.
const PACK: usize = 2 * BLOCK as usize;

/// Rests that were put together and encoded.
#[derive(Debug)]
pub(super) struct Group {
    /// Its clusters, whose content is filled up.
    pub(super) cut: Cut,
}

/// Where a rest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rest {
    /// The first byte, counted from that of the first group.
    pub(super) offset: u64,
    /// Bytes.
    pub(super) len: u32,
}

/// All rests.
#[derive(Debug)]
pub(super) struct Rests {
    compression: Compression,
    /// The most bytes of a cluster.
    most: usize,
    state: Mutex<State>,
}

/// The most rests that are told apart; later ones are looked up and not remembered.
const KNOWN_MAX: usize = 7 << 17;

#[derive(Debug)]
struct State {
    /// What units leave whose predecessors are not known yet, with a digest.
    early: BTreeMap<u32, (Vec<u8>, [u8; 32])>,
    /// The first of those that are not known.
    next: u32,
    /// Where the rests of units are, in their order.
    places: Vec<(u32, Rest)>,
    known: Repeats,
    /// Where the open group begins.
    start: u64,
    open: Vec<u8>,
    /// Groups that the writer has not taken, by the unit that closed them.
    groups: BTreeMap<u32, Group>,
}

const _: () = assert!(size_of::<(u32, Rest)>() <= 24);

impl Rests {
    /// Starts with none.
    pub(super) fn new(compression: Compression, most: u32) -> Self {
        Self {
            compression,
            most: most as usize,
            state: Mutex::new(State {
                early: BTreeMap::new(),
                next: 0,
                places: Vec::new(),
                known: Repeats::of_at_most(KNOWN_MAX),
                start: 0,
                open: Vec::new(),
                groups: BTreeMap::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what a unit leaves, which may be nothing; has to be said of every unit. Encodes the groups that are
    /// complete then.
    pub(super) fn give(&self, unit: u32, rest: &[u8]) -> Result<()> {
        let digest = if rest.is_empty() {
            [0; 32]
        } else {
            sha512_256(rest)
        };
        let complete = self.lock().add(unit, (rest.to_vec(), digest));
        for (closed_by, raw) in complete {
            let group = self.encode(raw)?;
            self.lock().groups.insert(closed_by, group);
        }
        Ok(())
    }

    fn encode(&self, raw: Vec<u8>) -> Result<Group> {
        let raw = filled(raw);
        let cut = search::cut(&self.compression, &raw, self.most, Leaves::default())?;
        Ok(Group { cut })
    }

    /// Returns the group that a unit closed which has come to the writer, if it did.
    pub(super) fn closed_by(&self, unit: u32) -> Option<Group> {
        self.lock().groups.remove(&unit)
    }

    /// Returns the group that is open when there are no more units.
    pub(super) fn last(&self) -> Result<Option<Group>> {
        let raw = std::mem::take(&mut self.lock().open);
        match raw.is_empty() {
            true => Ok(None),
            false => Ok(Some(self.encode(raw)?)),
        }
    }

    /// Returns where the rest of a unit is; `None` if it left nothing.
    pub(super) fn of(&self, unit: u32) -> Option<Rest> {
        let state = self.lock();
        let at = state.places.binary_search_by_key(&unit, |entry| entry.0);
        Some(state.places.get(at.ok()?)?.1)
    }
}

impl State {
    /// Takes what units leave in their sequence, as far as that is known, and tells the groups that it closes.
    fn add(&mut self, unit: u32, rest: (Vec<u8>, [u8; 32])) -> Vec<(u32, Vec<u8>)> {
        let mut complete = Vec::new();
        self.early.insert(unit, rest);
        while let Some((rest, digest)) = self.early.remove(&self.next) {
            let unit = self.next;
            self.next += 1;
            if rest.is_empty() {
                continue;
            }
            let mut here = self.start + self.open.len() as u64;
            let does_not_fit = self.open.len() + rest.len() > GROUP;
            if does_not_fit {
                here = self.start + self.open.len().next_multiple_of(PACK) as u64;
            }
            let known = self.known.find(digest, here);
            let place = Rest {
                offset: known.unwrap_or(here),
                len: rest.len() as u32,
            };
            self.places.push((unit, place));
            if known.is_some() {
                continue;
            }
            if does_not_fit {
                self.start = here;
                complete.push((unit, std::mem::take(&mut self.open)));
            }
            self.open.extend_from_slice(&rest);
        }
        complete
    }
}

/// Fills content of the packed inode up to whole packs of indexes.
pub(super) fn filled(mut raw: Vec<u8>) -> Vec<u8> {
    raw.resize(raw.len().next_multiple_of(PACK), 0);
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(unit: u32) -> Vec<u8> {
        let len = unit as usize * 977 % 50_000;
        (0..len as u32).map(|at| ((at * unit) >> 3) as u8).collect()
    }

    /// Returns rests in some order, and tells the groups in theirs.
    fn groups(order: impl Iterator<Item = u32>) -> (Vec<Group>, Vec<Option<Rest>>) {
        let rests = Rests::new("lz4".parse().unwrap(), 1 << 14);
        let count = order
            .map(|unit| rests.give(unit, &rest(unit % 200)).unwrap())
            .count() as u32;
        let closed = (0..count).filter_map(|unit| rests.closed_by(unit));
        let mut groups: Vec<Group> = closed.collect();
        groups.extend(rests.last().unwrap());
        (groups, (0..count).map(|unit| rests.of(unit)).collect())
    }

    #[test]
    fn groups_are_the_same_in_every_order_and_have_equal_rests_once() {
        let (groups_in_order, places) = groups(0..300);
        let (others, other_places) = groups((0..300).rev());
        assert_eq!(places, other_places);
        let sum: usize = (0..200).map(|unit| rest(unit).len()).sum();
        let raw = |group: &Group| {
            group
                .cut
                .pieces
                .iter()
                .map(|piece| piece.raw_len)
                .sum::<u32>()
        };
        let all: u32 = groups_in_order.iter().map(raw).sum();
        assert!(groups_in_order.len() > 3 && (all as usize) < sum + sum / 20);
        assert_eq!(groups_in_order.len(), others.len());
        for (a, b) in groups_in_order.iter().zip(&others) {
            assert!(raw(a).is_multiple_of(8192) && a.cut.bytes == b.cut.bytes);
        }
        assert_eq!(
            (places[0], places[5], places[205]),
            (None, places[205], places[5])
        );
        let mut end = 0;
        for (unit, place) in (0..200).zip(&places).skip(1) {
            let place = place.unwrap();
            assert_eq!(place.len as usize, rest(unit).len());
            assert!(place.offset >= end && place.offset < end + 8192);
            end = place.offset + u64::from(place.len);
        }
    }
}
