//! The match table: for each position in a block, the nearest earlier one with the longest match.
//!
//! In: bytes. Out: a word for each position: 26 bits of an earlier position and 6 bits of length.
//!
//! Positions are dealt to groups by their first bytes ([`super::groups`]), each small enough for a
//! cache. A group is then refined: split by the next bytes, again and again, until the depth is
//! reached ([`super::refine`]). So memory is walked in order but for the bytes of deep matches.
//!
//! **Invariants:** a link goes back; the bytes at both ends agree for the length (or more, if the
//! length is the depth). The work is linear in the bytes times the depth for any input.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::share::{Helped, share};

use super::groups::Groups;
use super::link::{Link, MAX_DEPTH, POSITION_BITS};
use super::refine::{Refiner, Suffix};

/// The most bytes that one table covers.
pub(in super::super) const MAX_COVER: usize = 1 << POSITION_BITS;

/// The most positions that are refined together.
const REFINED_TOGETHER: usize = 1 << 17;

/// The table, with the memory to fill it; it may be filled many times.
#[derive(Debug)]
pub(in super::super) struct MatchTable {
    /// The links; atomic because threads that fill the table write to it all over.
    links: Vec<AtomicU32>,
    groups: Groups,
    tools: Tools,
}

/// What a thread needs to find the matches of groups.
#[derive(Debug)]
struct Tools {
    refiner: Refiner,
    /// The positions of a group, in order.
    positions: Vec<u32>,
    /// The group's suffixes, those that agree beside each other.
    suffixes: Vec<Suffix>,
    /// Where suffixes by their first two bytes end.
    ends: Vec<u32>,
}

/// What is known while a table is filled.
#[derive(Debug, Clone, Copy)]
struct Filling<'a> {
    bytes: &'a [u8],
    groups: &'a Groups,
    links: &'a [AtomicU32],
    depth: usize,
    reach: usize,
}

impl MatchTable {
    /// Makes an empty table.
    pub(in super::super) fn new() -> Self {
        Self {
            links: Vec::new(),
            groups: Groups::new(),
            tools: Tools::new(),
        }
    }

    /// Fills the table with matches of up to `depth` bytes (at most [`MAX_DEPTH`]) over at most
    /// `reach` bytes. There are at most [`MAX_COVER`] bytes.
    pub(in super::super) fn fill(
        &mut self,
        bytes: &[u8],
        depth: usize,
        reach: usize,
        helped: Helped<'_>,
    ) {
        let bytes = &bytes[..bytes.len().min(MAX_COVER)];
        let depth = depth.clamp(2, MAX_DEPTH);
        self.links.clear();
        self.links
            .resize_with(bytes.len(), || AtomicU32::new(Link::NONE.word()));
        self.groups.plan(bytes, depth);
        for run in self.groups.runs() {
            for position in run {
                let link = Link::new(position as u32 - 1, depth);
                *self.links[position].get_mut() = link.word();
            }
        }
        while let Some(round) = self.groups.deal(bytes, helped) {
            let filling = Filling {
                bytes,
                groups: &self.groups,
                links: &self.links,
                depth,
                reach,
            };
            let count = round.len();
            share(
                helped,
                count,
                &mut self.tools,
                Tools::new,
                |tools, index| {
                    tools.group(filling, round.start + index);
                },
            );
        }
    }

    /// Returns the room of more than `most` positions back.
    pub(in super::super) fn shrink(&mut self, most: usize) {
        if self.links.capacity() > most {
            self.links = Vec::new();
        }
    }

    /// Returns the match of a position.
    #[inline(always)]
    pub(in super::super) fn at(&self, position: usize) -> Link {
        Link::from_word(self.links[position].load(Ordering::Relaxed))
    }
}

impl Tools {
    fn new() -> Self {
        Self {
            refiner: Refiner::new(),
            positions: Vec::new(),
            suffixes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Finds the matches among the positions of a group. What is too large for one piece is refined
    /// in several, each of which sees the end of the one before.
    fn group(&mut self, filling: Filling<'_>, index: usize) {
        let mut positions = std::mem::take(&mut self.positions);
        positions.clear();
        let mut known = 0;
        let mut rest = filling.groups.positions(index);
        loop {
            rest.fill(&mut positions, REFINED_TOGETHER);
            if positions.len() == known {
                break;
            }
            self.piece(filling, index, &positions);
            self.note(filling, &positions, known);
            if positions.len() < REFINED_TOGETHER {
                break;
            }
            positions.drain(..REFINED_TOGETHER - REFINED_TOGETHER / 4);
            known = positions.len();
        }
        self.positions = positions;
    }

    /// Writes the matches of positions that were refined together to the table.
    fn note(&self, filling: Filling<'_>, positions: &[u32], start: usize) {
        let len = filling.bytes.len();
        let found = self.refiner.found();
        for (&position, link) in positions.iter().zip(found).skip(start) {
            if link.length() == 0 {
                continue;
            }
            let earlier = positions[link.position() as usize];
            let at = position as usize;
            if at - earlier as usize <= filling.reach {
                let link = Link::new(earlier, link.length().min(len - at));
                filling.links[at].store(link.word(), Ordering::Relaxed);
            }
        }
    }

    /// Refines some positions of a group.
    fn piece(&mut self, filling: Filling<'_>, index: usize, positions: &[u32]) {
        let Filling { bytes, groups, .. } = filling;
        let group = groups.group(index);
        self.suffixes.resize(positions.len(), Suffix::NOTHING);
        let suffixes = &mut self.suffixes[..];
        self.refiner.start(filling.depth, positions.len());
        if group.agreed > 2 || group.pairs.len() == 1 {
            for ((rank, &position), suffix) in (0u32..).zip(positions).zip(&mut *suffixes) {
                *suffix = Suffix::new(bytes, position, rank, group.agreed);
            }
            self.refiner
                .refine(bytes, positions, suffixes, group.agreed);
            return;
        }
        let ends = &mut self.ends;
        groups.starts(group, ends);
        for (rank, &position) in (0u32..).zip(positions) {
            let at = position as usize;
            let pair = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
            let end = &mut ends[pair - group.pairs.start];
            suffixes[*end as usize] = Suffix::new(bytes, position, rank, 2);
            *end += 1;
        }
        let mut start = 0;
        for &end in &*ends {
            let end = end as usize;
            if end - start > 1 {
                let chain = &mut suffixes[start..end];
                self.refiner.refine(bytes, positions, chain, 2);
            }
            start = end;
        }
    }
}
