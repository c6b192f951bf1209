//! The parser: the cheapest way through some content by given prices.
//!
//! In: the candidates of each position. Out: sequences.
//!
//! A window of nodes, one for each position, holds the cheapest ways known to it. Each node in turn
//! offers all that may follow it: a literal, the recent offsets, and matches of every length.
//!
//! **Invariant:** the sequences stay within the range; bytes after the last one are literals.

use crate::match_finder::agreement;

use super::block::Sequence;
use super::candidates::Candidates;
use super::codes::{MAX_MATCH, MIN_MATCH};
use super::offsets::{RecentOffsets, value_of};
use super::prices::{INFINITE, LENGTHS, Prices};
use super::window::{LITERAL, MATCH, ParseWindow, WayEnd};

/// What a parser looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) block: &'a [u8],
    /// Where the range ends that is parsed.
    pub(super) end: usize,
    pub(super) candidates: &'a Candidates,
    pub(super) prices: &'a Prices,
    pub(super) pass: Pass,
}

/// How carefully a range is parsed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    /// A match of this length is taken without a further search; at most [`LENGTHS`].
    pub(super) nice: usize,
    /// How much dearer the second way to a node may be that is followed too; see
    /// [`super::effort::Effort`].
    pub(super) slack: Option<u32>,
    /// Whether to offer something at each node.
    pub(super) thorough: bool,
}

/// Where a parser is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    pub(super) position: usize,
    pub(super) recent: RecentOffsets,
    /// Literals after the last match.
    pub(super) literals: u32,
}

impl Cursor {
    /// Makes a cursor where a block begins.
    pub(super) fn new(position: usize, recent: RecentOffsets) -> Self {
        Self {
            position,
            recent,
            literals: 0,
        }
    }
}

/// A match that is so long that it is taken at once, and the kind of the way that it follows.
#[derive(Debug, Clone, Copy)]
struct Taken {
    from: usize,
    length: usize,
    offset: u32,
}

/// A parser with its window.
#[derive(Debug)]
pub(super) struct Parser {
    window: ParseWindow,
}

impl Parser {
    /// Makes a parser.
    pub(super) fn new() -> Self {
        Self {
            window: ParseWindow::new(),
        }
    }

    /// Appends the next sequences of a range, from a cursor to a position where all ways meet.
    pub(super) fn parse(
        &mut self,
        input: Input<'_>,
        cursor: &mut Cursor,
        sequences: &mut Vec<Sequence>,
    ) {
        let start = cursor.position;
        self.window.start(WayEnd {
            recent: cursor.recent,
            literals: cursor.literals,
        });
        let mut index = 0;
        let taken = loop {
            if index > 0 {
                self.window.settle(index);
                if start + index == input.end || self.window.is_end(index) {
                    break None;
                }
                if !input.pass.thorough && self.window.pass_by(index) {
                    index += 1;
                    continue;
                }
            }
            let taken = self.visit(input, start + index, index);
            if taken.is_some() {
                break taken;
            }
            index += 1;
        };
        let kind = taken.map_or_else(|| self.window.best(index), |taken| taken.from);
        let mut head = self.window.trace(index, kind, sequences);
        cursor.position = start + index;
        if let Some(Taken { length, offset, .. }) = taken {
            sequences.push(Sequence {
                literals: head.literals,
                length: length as u32,
                offset,
            });
            head.recent.name(offset, head.literals > 0);
            head.literals = 0;
            cursor.position += length;
        }
        cursor.recent = head.recent;
        cursor.literals = head.literals;
    }

    /// Offers all that may follow a node; returns a match that is taken at once.
    #[inline(always)]
    fn visit(&mut self, input: Input<'_>, position: usize, index: usize) -> Option<Taken> {
        self.offer_literal(input, position, index);
        let most = (input.end - position).min(MAX_MATCH);
        if most < MIN_MATCH {
            return None;
        }
        let best = self.window.best(index);
        let costs = self.window.costs(index);
        let mut shortest = MIN_MATCH;
        for from in [best, 1 - best] {
            let is_far = match input.pass.slack {
                Some(slack) => costs[from] > costs[best] + slack,
                None => from != best,
            };
            if is_far {
                continue;
            }
            match self.offer_recent(input, position, (index, from), most) {
                Ok(longest) => shortest = shortest.max(longest + 1),
                taken => return taken.err(),
            }
        }
        self.offer_candidates(input, position, (index, best), shortest..most + 1)
    }

    /// Offers the literal of a node to the next one, after the way that makes it cheaper.
    #[inline(always)]
    fn offer_literal(&mut self, input: Input<'_>, position: usize, index: usize) {
        let prices = input.prices;
        let literal = prices.literals[usize::from(input.block[position])];
        let costs = self.window.costs(index);
        let heads = self.window.heads(index);
        let by = |from: usize| {
            let before = heads[from].literals;
            costs[from]
                .wrapping_add(literal)
                .wrapping_add(prices.run(before + 1))
                .wrapping_sub(prices.run(before))
        };
        let by = [by(MATCH), by(LITERAL)];
        let from = if costs[MATCH] >= INFINITE {
            LITERAL
        } else if costs[LITERAL] >= INFINITE {
            MATCH
        } else {
            usize::from(by[LITERAL] < by[MATCH])
        };
        self.window.reach(index + 1);
        self.window
            .set_literal(index + 1, by[from], heads[from], from);
    }

    /// Offers matches at the recent offsets of a way to a node. Returns the length of the longest,
    /// 0 if there is none, or one that is taken at once.
    #[inline(always)]
    fn offer_recent(
        &mut self,
        input: Input<'_>,
        position: usize,
        (index, from): (usize, usize),
        most: usize,
    ) -> Result<usize, Taken> {
        let prices = input.prices;
        // the next sequence starts without literals
        let price = self.window.costs(index)[from].wrapping_add(prices.run(0));
        let recent = self.window.heads(index)[from].recent;
        let mut longest = 0;
        for (value, &offset) in (1..).zip(&recent.meanings(from == LITERAL)) {
            let Some(length) = repeated(input.block, position, offset, most) else {
                continue;
            };
            if length >= input.pass.nice {
                return Err(Taken {
                    from,
                    length,
                    offset,
                });
            }
            let price = price.wrapping_add(prices.offset(value));
            let lengths = prices.lengths(MIN_MATCH..length + 1);
            self.window
                .offer((index, from), MIN_MATCH, lengths, price, offset);
            longest = longest.max(length);
        }
        Ok(longest)
    }

    /// Offers the candidates of a node, in lengths of a range that no recent offset has. Returns
    /// one that is taken at once.
    #[inline(always)]
    fn offer_candidates(
        &mut self,
        input: Input<'_>,
        position: usize,
        (index, from): (usize, usize),
        lengths: std::ops::Range<usize>,
    ) -> Option<Taken> {
        let prices = input.prices;
        let (mut shortest, most) = (lengths.start, lengths.end - 1);
        let candidates = input.candidates.at(position);
        let longest = candidates.last()?;
        let length = most.min(longest.length as usize);
        if length >= input.pass.nice {
            return Some(Taken {
                from,
                length,
                offset: longest.offset,
            });
        }
        let price = self.window.costs(index)[from].wrapping_add(prices.run(0));
        for candidate in candidates {
            let length = most.min(candidate.length as usize);
            if length >= shortest {
                let price = price.wrapping_add(prices.offset(value_of(candidate.offset)));
                let lengths = prices.lengths(shortest..length + 1);
                self.window
                    .offer((index, from), shortest, lengths, price, candidate.offset);
                shortest = length + 1;
            }
        }
        None
    }
}

/// All lengths that are offered have prices.
const _: () = assert!(super::effort::MAX_NICE <= LENGTHS);

/// Returns how long the match of a recent offset is, if there is one.
#[inline(always)]
fn repeated(block: &[u8], position: usize, offset: u32, most: usize) -> Option<usize> {
    let earlier = position.checked_sub(offset as usize)?;
    if offset == 0 || triple(block, earlier) != triple(block, position) {
        return None;
    }
    Some(agreement(block, position, earlier, most))
}

/// Reads three bytes at a position that has at least three.
#[inline(always)]
fn triple(block: &[u8], at: usize) -> u32 {
    let rest = block.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(bytes) => u32::from_le_bytes(*bytes) << 8,
        None => {
            let last = rest.iter().take(MIN_MATCH).rev();
            last.fold(0, |word, &byte| word << 8 | u32::from(byte)) << 8
        }
    }
}
