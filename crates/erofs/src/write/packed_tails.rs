//! Tails after the last full pclusters of files, collected in groups for the packed inode.
//!
//! In: the tail of each unit, from many threads. Out: groups of tails, cut into pclusters by the
//! thread that added the last missing tail, and where each unit's tail is. **Invariant:** groups
//! depend only on the sequence of units; a group is encoded before the unit that closed it reaches
//! the writer, so no thread waits. Memory: 24 bytes a tail, 50 to 90 for each distinct one, up to
//! 45 MB, and the tails and groups of units that are on their way to the writer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sinterfs_block::checksum::sha512_256;
use sinterfs_model::{Result, StoredPart};

use super::compression::Compression;
use super::cut::{self, CutRule};
use super::digest_index::{Digest, DigestIndex};
use super::limits::BLOCK;
use super::search::TailRule;

/// The longest shared tail where pclusters are shorter: longer ones are read faster from separate
/// pclusters, whose last one wastes little.
pub(super) const SHARED_TAIL_MAX: u32 = 128 << 10;

/// The most bytes of tails in a group.
pub(super) const GROUP: usize = 1 << 20;

/// The unit of padding in the packed inode. Its units and groups are not next to each other in the
/// image, but the pclusters of a pack of compact indexes, which has two at least, have to be.
const PACK: usize = 2 * BLOCK as usize;

/// The most digests of tails that are kept; later tails are looked up but not kept.
const DIGESTS_MAX: usize = 7 << 17;

/// Tails that were put together, padded and encoded.
#[derive(Debug)]
pub(super) struct TailGroup {
    /// The stored pclusters.
    pub(super) bytes: Vec<u8>,
    /// Their lengths.
    pub(super) pieces: Vec<StoredPart>,
}

/// The location of a shared tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedTail {
    /// Its offset from the start of the first group.
    pub(super) offset: u64,
    /// Its length in bytes.
    pub(super) len: u32,
}

const _: () = assert!(size_of::<(u32, SharedTail)>() <= 24);

/// All shared tails.
#[derive(Debug)]
pub(super) struct PackedTails {
    compression: Compression,
    rule: CutRule,
    state: Mutex<TailsState>,
}

#[derive(Debug, Default)]
struct TailsState {
    /// The tails, with digests, of units that came before an earlier one.
    early: BTreeMap<u32, (Vec<u8>, Digest)>,
    /// The first unit that has not come.
    next: u32,
    /// The locations of tails, by unit.
    tails: Vec<(u32, SharedTail)>,
    digests: DigestIndex,
    /// The offset of the open group.
    start: u64,
    open: Vec<u8>,
    /// Groups that the writer has not taken, by the unit that closed them.
    groups: BTreeMap<u32, TailGroup>,
}

impl PackedTails {
    /// Creates an empty table for pclusters of at most `most` bytes.
    pub(super) fn new(compression: Compression, most: u32) -> Self {
        Self {
            compression,
            rule: CutRule {
                most: most as usize,
                in_blocks: true,
                zeros_behind: false,
                tail: TailRule::default(),
            },
            state: Mutex::new(TailsState {
                digests: DigestIndex::with_limit(DIGESTS_MAX),
                ..TailsState::default()
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TailsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the tail of a unit, which may be empty; every unit has to be added. Encodes the groups
    /// that this completes.
    pub(super) fn add(&self, unit: u32, tail: &[u8]) -> Result<()> {
        let digest = if tail.is_empty() {
            [0; 32]
        } else {
            sha512_256(tail)
        };
        let complete = self.lock().add(unit, (tail.to_vec(), digest));
        for (closed_by, raw) in complete {
            let group = self.encode(raw)?;
            self.lock().groups.insert(closed_by, group);
        }
        Ok(())
    }

    fn encode(&self, raw: Vec<u8>) -> Result<TailGroup> {
        let cut = cut::cut(&self.compression, self.rule, (0, &padded(raw)))?;
        Ok(TailGroup {
            pieces: cut.pieces(),
            bytes: cut.bytes,
        })
    }

    /// Takes the group that a unit closed, if it did; the unit has reached the writer.
    pub(super) fn take_closed_by(&self, unit: u32) -> Option<TailGroup> {
        self.lock().groups.remove(&unit)
    }

    /// Encodes the open group when there are no more units; `None` if it is empty.
    pub(super) fn take_last(&self) -> Result<Option<TailGroup>> {
        let raw = std::mem::take(&mut self.lock().open);
        if raw.is_empty() {
            return Ok(None);
        }
        self.encode(raw).map(Some)
    }

    /// Returns where the tail of a unit is; `None` if it has none.
    pub(super) fn get(&self, unit: u32) -> Option<SharedTail> {
        let state = self.lock();
        let at = state.tails.binary_search_by_key(&unit, |entry| entry.0);
        Some(state.tails.get(at.ok()?)?.1)
    }
}

impl TailsState {
    /// Places the tails of units in their sequence, as far as that has come, and returns the groups
    /// that these close.
    fn add(&mut self, unit: u32, tail: (Vec<u8>, Digest)) -> Vec<(u32, Vec<u8>)> {
        let mut complete = Vec::new();
        self.early.insert(unit, tail);
        while let Some((tail, digest)) = self.early.remove(&self.next) {
            let unit = self.next;
            self.next += 1;
            if tail.is_empty() {
                continue;
            }
            let mut here = self.start + self.open.len() as u64;
            let does_not_fit = self.open.len() + tail.len() > GROUP;
            if does_not_fit {
                here = self.start + self.open.len().next_multiple_of(PACK) as u64;
            }
            let found = self.digests.find_or_insert(digest, here);
            let shared = SharedTail {
                offset: found.unwrap_or(here),
                len: tail.len() as u32,
            };
            self.tails.push((unit, shared));
            if found.is_some() {
                continue;
            }
            if does_not_fit {
                self.start = here;
                complete.push((unit, std::mem::take(&mut self.open)));
            }
            self.open.extend_from_slice(&tail);
        }
        complete
    }
}

/// Pads content of the packed inode to whole packs of compact indexes.
pub(super) fn padded(mut raw: Vec<u8>) -> Vec<u8> {
    raw.resize(raw.len().next_multiple_of(PACK), 0);
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(unit: u32) -> Vec<u8> {
        let len = unit as usize * 977 % 50_000;
        (0..len as u32).map(|at| ((at * unit) >> 3) as u8).collect()
    }

    /// Adds tails in some order, and returns the groups in theirs.
    fn groups(order: impl Iterator<Item = u32>) -> (Vec<TailGroup>, Vec<Option<SharedTail>>) {
        let tails = PackedTails::new("lz4".parse().unwrap(), 1 << 14);
        let count = order
            .map(|unit| tails.add(unit, &tail(unit % 200)).unwrap())
            .count() as u32;
        let closed = (0..count).filter_map(|unit| tails.take_closed_by(unit));
        let mut groups: Vec<TailGroup> = closed.collect();
        groups.extend(tails.take_last().unwrap());
        (groups, (0..count).map(|unit| tails.get(unit)).collect())
    }

    #[test]
    fn groups_are_the_same_in_every_order_and_have_equal_tails_once() {
        let (groups_in_order, found) = groups(0..300);
        let (others, other_found) = groups((0..300).rev());
        assert_eq!(found, other_found);
        let sum: usize = (0..200).map(|unit| tail(unit).len()).sum();
        let raw = |group: &TailGroup| {
            group
                .pieces
                .iter()
                .map(|piece| piece.decoded_len)
                .sum::<u32>()
        };
        let all: u32 = groups_in_order.iter().map(raw).sum();
        assert!(groups_in_order.len() > 3 && (all as usize) < sum + sum / 20);
        assert_eq!(groups_in_order.len(), others.len());
        for (a, b) in groups_in_order.iter().zip(&others) {
            assert!(raw(a).is_multiple_of(8192) && a.bytes == b.bytes);
        }
        assert_eq!(
            (found[0], found[5], found[205]),
            (None, found[205], found[5])
        );
        let mut end = 0;
        for (unit, place) in (0..200).zip(&found).skip(1) {
            let place = place.unwrap();
            assert_eq!(place.len as usize, tail(unit).len());
            assert!(place.offset >= end && place.offset < end + 8192);
            end = place.offset + u64::from(place.len);
        }
    }
}
