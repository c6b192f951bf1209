//! The match table: for each position of a slice the nearest earlier position with the longest match.
//!
//! In: bytes. Out: a word for each position: 26 bits of an earlier position and 6 bits of length.
//!
//! Positions are dealt to groups by their first bytes ([`super::groups`]), each small enough for a
//! cache. A group is then refined: split by the next bytes, again and again, until the depth is
//! reached ([`super::refine`]). So memory is walked in order but for the bytes of deep matches.
//!
//! **Invariants:** a link goes back; the bytes at both ends agree for the length (or more, if the
//! length is the depth). The work is linear in the bytes times the depth, whatever the bytes are.

use super::groups::{Group, Groups};
use super::refine::{Refiner, Suffix};

/// Bits of a link to a position.
const LINK_BITS: u32 = 26;

/// The most bytes that one table covers.
pub(super) const MAX_SLICE: usize = 1 << LINK_BITS;

/// The most that a length in the table can be.
pub(super) const MAX_DEPTH: usize = (1 << (32 - LINK_BITS)) - 1;

/// The most positions that are refined together.
const PIECE: usize = 1 << 17;

/// A match of the table: a position and a length, or nothing (length 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    pub(super) const NONE: Self = Self(0);

    /// Makes a link; the length is at most [`MAX_DEPTH`].
    #[inline(always)]
    pub(super) fn new(position: u32, length: usize) -> Self {
        Self((length as u32) << LINK_BITS | position)
    }

    #[inline(always)]
    pub(super) fn position(self) -> u32 {
        self.0 & ((1 << LINK_BITS) - 1)
    }

    #[inline(always)]
    pub(super) fn length(self) -> usize {
        (self.0 >> LINK_BITS) as usize
    }
}

/// The table, with what is needed to fill it; it may be filled again and again.
#[derive(Debug)]
pub(super) struct MatchTable {
    links: Vec<Link>,
    groups: Groups,
    refiner: Refiner,
    /// The positions of a group, in order.
    positions: Vec<u32>,
    /// The group's suffixes, those that agree beside each other.
    suffixes: Vec<Suffix>,
}

impl MatchTable {
    /// Makes an empty table.
    pub(super) fn new() -> Self {
        Self {
            links: Vec::new(),
            groups: Groups::new(),
            refiner: Refiner::new(),
            positions: Vec::new(),
            suffixes: Vec::new(),
        }
    }

    /// Fills the table with matches of up to `depth` bytes (at most [`MAX_DEPTH`]) over at most
    /// `reach` bytes. The slice has at most [`MAX_SLICE`] bytes.
    pub(super) fn fill(&mut self, slice: &[u8], depth: usize, reach: usize) {
        let slice = &slice[..slice.len().min(MAX_SLICE)];
        let depth = depth.clamp(2, MAX_DEPTH);
        self.links.clear();
        self.links.resize(slice.len(), Link::NONE);
        let mut groups = std::mem::replace(&mut self.groups, Groups::new());
        groups.plan(slice, depth);
        for run in groups.runs() {
            for position in run {
                self.links[position] = Link::new(position as u32 - 1, depth);
            }
        }
        self.refiner.start(depth);
        while let Some(round) = groups.deal(slice) {
            for index in round {
                self.group(slice, &mut groups, index, reach);
            }
        }
        self.groups = groups;
    }

    /// Gives the match of a position.
    #[inline(always)]
    pub(super) fn at(&self, position: usize) -> Link {
        self.links[position]
    }

    /// Finds the matches among the positions of a group. What is too large for one piece is refined in
    /// several, each of which sees the end of the one before.
    fn group(&mut self, slice: &[u8], groups: &mut Groups, index: usize, reach: usize) {
        let mut positions = std::mem::take(&mut self.positions);
        positions.clear();
        let group = groups.group(index);
        let mut known = 0;
        loop {
            groups.positions(index, &mut positions, PIECE);
            if positions.len() == known {
                break;
            }
            self.piece(slice, groups, &group, &positions);
            self.note(slice.len(), &positions, known, reach);
            if positions.len() < PIECE {
                break;
            }
            positions.drain(..PIECE - PIECE / 4);
            known = positions.len();
        }
        self.positions = positions;
    }

    /// Writes the matches of positions that were refined together to the table.
    fn note(&mut self, len: usize, positions: &[u32], start: usize, reach: usize) {
        let found = self.refiner.found();
        for (&position, link) in positions.iter().zip(found).skip(start) {
            if link.length() == 0 {
                continue;
            }
            let earlier = positions[link.position() as usize];
            let at = position as usize;
            if at - earlier as usize <= reach {
                self.links[at] = Link::new(earlier, link.length().min(len - at));
            }
        }
    }

    /// Refines some positions of a group.
    fn piece(&mut self, slice: &[u8], groups: &mut Groups, group: &Group, positions: &[u32]) {
        self.suffixes.resize(positions.len(), Suffix::NOTHING);
        let suffixes = &mut self.suffixes[..];
        self.refiner.clear(positions.len());
        if group.agreed > 2 || group.pairs.len() == 1 {
            for ((rank, &position), suffix) in (0u32..).zip(positions).zip(&mut *suffixes) {
                *suffix = Suffix::new(slice, position, rank, group.agreed);
            }
            self.refiner
                .refine(slice, positions, suffixes, group.agreed);
            return;
        }
        let ends = groups.starts(group);
        for (rank, &position) in (0u32..).zip(positions) {
            let at = position as usize;
            let pair = u16::from_be_bytes([slice[at], slice[at + 1]]);
            let end = &mut ends[usize::from(pair)];
            suffixes[*end as usize] = Suffix::new(slice, position, rank, 2);
            *end += 1;
        }
        let mut start = 0;
        for &end in &ends[group.pairs.clone()] {
            let end = end as usize;
            if end - start > 1 {
                let chain = &mut suffixes[start..end];
                self.refiner.refine(slice, positions, chain, 2);
            }
            start = end;
        }
    }
}
