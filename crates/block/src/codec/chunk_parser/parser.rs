//! Chooses items: the cheapest path through a block by the costs of a coder.
//!
//! **Invariant:** the items cover the block. Of each position the cheapest way there is known, with
//! the latest distances after it.

use super::finder::{ChunkMatches, Effort};
use crate::codec::match_finder::agreement;

/// The number of latest distances that an item can repeat.
pub(in crate::codec) const REPEATS: usize = 3;

/// What a coder pays, in [`super::UNIT`]s.
pub(in crate::codec) trait Costs {
    /// How many of the latest distances have slots of their own, from 0 on.
    const REPEATS: usize;
    /// The shortest match in bytes.
    const LEAST: usize;
    /// The longest match in bytes.
    const MOST: usize;
    /// Returns the slot of a distance.
    fn slot(&self, distance: u32) -> usize;
    /// Returns the cost of a literal.
    fn literal(&self, byte: u8) -> u32;
    /// Returns the cost of a match.
    fn matched(&self, slot: usize, len: usize) -> u32;
}

/// An item of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::codec) enum Item {
    /// A byte.
    Literal(u8),
    /// A match with its slot.
    Match { slot: u32, len: u32, distance: u32 },
}

/// The cheapest way to a position.
#[derive(Debug, Clone, Copy)]
struct Way {
    cost: u32,
    /// The length of the last item: 0 for a literal.
    len: u32,
    slot: u32,
    distance: u32,
    /// The latest distances, once the position was reached.
    recent: [u32; REPEATS],
}

const UNREACHED: Way = Way {
    cost: u32::MAX,
    len: 0,
    slot: 0,
    distance: 0,
    recent: [1; REPEATS],
};

/// Keeps its memory between blocks.
#[derive(Debug, Default)]
pub(in crate::codec) struct Parser {
    ways: Vec<Way>,
    items: Vec<Item>,
}

impl Parser {
    /// Returns the items for the bytes from `start` to `end` of a block; `recent` are the latest
    /// distances before them.
    pub(in crate::codec) fn parse<C: Costs>(
        &mut self,
        block: &[u8],
        (start, end): (usize, usize),
        recent: [u32; REPEATS],
        (matches, effort): (&ChunkMatches, Effort),
        costs: &C,
    ) -> &[Item] {
        let len = end - start;
        self.ways.clear();
        self.ways.resize(len + 1, UNREACHED);
        if let Some(first) = self.ways.first_mut() {
            (first.cost, first.recent) = (0, recent);
        }
        let mut at = 0;
        while at < len {
            at += self.step(block, start, at, (matches, effort), costs);
        }
        self.trace(block, start);
        &self.items
    }

    /// Continues from a position; returns how far to go on.
    fn step<C: Costs>(
        &mut self,
        block: &[u8],
        start: usize,
        at: usize,
        (matches, effort): (&ChunkMatches, Effort),
        costs: &C,
    ) -> usize {
        let Some(Way { cost, .. }) = self.ways.get(at).copied() else {
            return 1;
        };
        let recent = self.settle(at);
        let Some((_, later)) = self.ways.split_at_mut_checked(at + 1) else {
            return 1;
        };
        let here = start + at;
        if let (Some(byte), Some(next)) = (block.get(here), later.first_mut()) {
            improve(next, cost + costs.literal(*byte), 0, 0, 0);
        }
        let room = later.len();
        for (slot, &distance) in recent.iter().enumerate().take(C::REPEATS) {
            let Some(earlier) = here.checked_sub(distance as usize) else {
                continue;
            };
            let longest = agreement(block, here, earlier, C::MOST.min(room));
            if longest >= effort.nice {
                return jump(later, cost, costs, slot, distance, longest);
            }
            relax(later, cost, costs, slot, distance, C::LEAST..=longest);
        }
        let mut least = C::LEAST;
        for &(longest, distance) in matches.at(here) {
            let longest = (longest as usize).min(room);
            let slot = costs.slot(distance);
            if longest >= effort.nice {
                return jump(later, cost, costs, slot, distance, longest);
            }
            relax(later, cost, costs, slot, distance, least..=longest);
            least = longest + 1;
        }
        1
    }

    /// Computes the latest distances at a position that no better way leads to.
    fn settle(&mut self, at: usize) -> [u32; REPEATS] {
        let Some(way) = self.ways.get(at).copied() else {
            return [1; REPEATS];
        };
        if at == 0 {
            return way.recent;
        }
        let from = at - (way.len.max(1) as usize);
        let mut recent = self.ways.get(from).map_or([1; REPEATS], |way| way.recent);
        if way.len > 0 {
            update(&mut recent, way.slot as usize, way.distance);
        }
        if let Some(way) = self.ways.get_mut(at) {
            way.recent = recent;
        }
        recent
    }

    /// Collects the items of the cheapest way to the end.
    fn trace(&mut self, block: &[u8], start: usize) {
        self.items.clear();
        let mut at = self.ways.len() - 1;
        while at > 0 {
            let Some(way) = self.ways.get(at) else { break };
            let item = match way.len {
                0 => Item::Literal(block.get(start + at - 1).copied().unwrap_or(0)),
                len => Item::Match {
                    slot: way.slot,
                    len,
                    distance: way.distance,
                },
            };
            self.items.push(item);
            at -= way.len.max(1) as usize;
        }
        self.items.reverse();
    }
}

/// Takes a long match without others beside it, and returns its length.
fn jump<C: Costs>(
    later: &mut [Way],
    cost: u32,
    costs: &C,
    slot: usize,
    distance: u32,
    len: usize,
) -> usize {
    relax(later, cost, costs, slot, distance, len..=len);
    len
}

/// Offers a match with each of several lengths.
#[inline]
fn relax<C: Costs>(
    later: &mut [Way],
    cost: u32,
    costs: &C,
    slot: usize,
    distance: u32,
    lengths: std::ops::RangeInclusive<usize>,
) {
    for len in lengths {
        if let Some(way) = later.get_mut(len - 1) {
            let number = u32::try_from(len).unwrap_or(0);
            improve(way, cost + costs.matched(slot, len), number, slot, distance);
        }
    }
}

#[inline]
fn improve(way: &mut Way, cost: u32, len: u32, slot: usize, distance: u32) {
    if cost < way.cost {
        way.cost = cost;
        way.len = len;
        way.slot = u32::try_from(slot).unwrap_or(0);
        way.distance = distance;
    }
}

/// Updates the latest distances: one that is repeated changes places with the newest.
#[inline]
pub(in crate::codec) fn update(recent: &mut [u32; REPEATS], slot: usize, distance: u32) {
    if slot < REPEATS {
        recent.swap(0, slot);
    } else {
        let [a, b, _] = *recent;
        *recent = [distance, a, b];
    }
}
