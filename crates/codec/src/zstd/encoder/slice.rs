//! A slice of a block in, blocks of a frame out: the parser and the block writer together.
//!
//! A stretch of the slice at a time is parsed by the statistics of what is before it, split into
//! blocks, and each block is parsed again by its own statistics.
//!
//! **Invariant:** the result does not depend on what a thread encoded before.

use std::ops::Range;

use crate::match_finder::{Finder, NOISE_PIECE, Slice, is_noise};

use super::block::{BlockWriter, MAX_CONTENT, Sequence};
use super::candidates::Candidates;
use super::codes::MIN_MATCH;
use super::effort::Effort;
use super::offsets::RecentOffsets;
use super::parser::{Cursor, Input, Parser, Pass};
use super::prices::Prices;
use super::split::split;
use super::statistics::Statistics;

/// The bytes before a slice in which nearer matches than those of the table are known at its start.
const WARM_UP: usize = 1 << 19;

/// Bytes that are parsed before they are split into blocks.
const STRETCH: usize = 4 * MAX_CONTENT;

/// Bytes after which the first pass computes prices again.
const STALE: usize = 4 << 10;

/// How a slice is encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) effort: &'static Effort,
    /// The longest offset as a power of two.
    pub(super) window: u32,
}

/// What a thread needs to encode slices.
#[derive(Debug)]
pub(super) struct SliceEncoder {
    finder: Finder<MIN_MATCH>,
    candidates: Candidates,
    parser: Parser,
    prices: Prices,
    sequences: Vec<Sequence>,
}

impl SliceEncoder {
    pub(super) fn new() -> Self {
        Self {
            finder: Finder::new(),
            candidates: Candidates::new(),
            parser: Parser::new(),
            prices: Prices::new(),
            sequences: Vec::new(),
        }
    }

    /// Returns the blocks of a slice; the last is marked as such if the frame ends there.
    pub(super) fn encode(&mut self, slice: Slice<'_>, settings: Settings, is_end: bool) -> Vec<u8> {
        let Slice {
            block, begin, base, ..
        } = slice;
        let effort = settings.effort;
        let reach = 1u32.checked_shl(settings.window).unwrap_or(u32::MAX);
        self.finder.start(effort.depth, reach, true, base);
        let before = begin.saturating_sub(WARM_UP).max(base);
        self.finder.skip(block, before..begin);
        let mut blocks = BlockWriter::new(if begin == 0 {
            RecentOffsets::START
        } else {
            RecentOffsets::UNKNOWN
        });
        let mut statistics = None;
        let most = MAX_CONTENT.min(reach as usize);
        let mut position = begin;
        while position < block.len() {
            let piece = block.len().min(position + NOISE_PIECE.min(most));
            if is_noise(&block[base..], position - base, slice.table) {
                blocks.raw(&block[position..piece]);
                position = piece;
                continue;
            }
            let end = self.stretch_end(slice, position);
            self.stretch(
                slice,
                effort,
                position..end,
                most,
                &mut statistics,
                &mut blocks,
            );
            position = end;
        }
        blocks.finish(is_end)
    }

    /// Returns where the next stretch ends: before noise.
    fn stretch_end(&self, slice: Slice<'_>, position: usize) -> usize {
        let Slice {
            block, base, table, ..
        } = slice;
        let end = block.len().min(position + STRETCH);
        (position..end)
            .step_by(NOISE_PIECE)
            .skip(1)
            .find(|&at| is_noise(&block[base..], at - base, table))
            .unwrap_or(end)
    }

    /// Encodes a stretch into blocks of at most `most` bytes, with the statistics of what is before
    /// it.
    fn stretch(
        &mut self,
        slice: Slice<'_>,
        effort: &Effort,
        range: Range<usize>,
        most: usize,
        before: &mut Option<Statistics>,
        blocks: &mut BlockWriter,
    ) {
        let block = slice.block;
        self.candidates
            .find(slice, &mut self.finder, range.clone(), effort.nice);
        let recent = blocks.recent();
        let statistics = before.get_or_insert_with(|| {
            let end = range.end.min(range.start + MAX_CONTENT);
            Statistics::guess(&block[range.start..end])
        });
        self.first_pass(block, effort, range.clone(), recent, statistics);
        let parts = split(&block[range.clone()], &self.sequences, recent, most);
        let mut position = range.start;
        for (len, mut own) in parts {
            let end = position + len;
            for pass in (0..effort.passes).rev() {
                let slack = effort.slack.filter(|_| pass == 0);
                own = self.pass(block, effort, slack, position..end, blocks.recent(), &own);
            }
            blocks.write(&block[position..end], &self.sequences);
            position = end;
        }
    }

    /// Parses a range with prices that adapt to the parsed symbols.
    fn first_pass(
        &mut self,
        block: &[u8],
        effort: &Effort,
        range: Range<usize>,
        recent: RecentOffsets,
        statistics: &mut Statistics,
    ) {
        self.sequences.clear();
        let mut cursor = Cursor::new(range.start, recent);
        let mut counted = (range.start, recent);
        while cursor.position < range.end {
            let pause = (cursor.position + STALE).min(range.end);
            let (since, counted_to) = (self.sequences.len(), counted.0);
            self.prices.refresh(statistics);
            self.parse(block, effort, None, range.end, pause, &mut cursor);
            if counted_to / MAX_CONTENT != cursor.position / MAX_CONTENT {
                statistics.halve();
            }
            statistics.add_sequences(block, &mut counted, &self.sequences[since..]);
        }
    }

    /// Parses a block by given statistics; returns its own.
    fn pass(
        &mut self,
        block: &[u8],
        effort: &Effort,
        slack: Option<u32>,
        range: Range<usize>,
        recent: RecentOffsets,
        statistics: &Statistics,
    ) -> Statistics {
        self.sequences.clear();
        self.prices.refresh(statistics);
        let mut cursor = Cursor::new(range.start, recent);
        self.parse(block, effort, slack, range.end, range.end, &mut cursor);
        let mut own = Statistics::new();
        let mut counted = (range.start, recent);
        own.add_sequences(block, &mut counted, &self.sequences);
        own.add_literals(&block[counted.0..range.end]);
        own
    }

    /// Parses what is before `end` by the present prices, from a cursor to `pause` or farther.
    fn parse(
        &mut self,
        block: &[u8],
        effort: &Effort,
        slack: Option<u32>,
        end: usize,
        pause: usize,
        cursor: &mut Cursor,
    ) {
        let input = Input {
            block,
            end,
            candidates: &self.candidates,
            prices: &self.prices,
            pass: Pass {
                nice: effort.nice,
                slack,
                thorough: effort.thorough,
            },
        };
        while cursor.position < pause {
            self.parser.parse(input, cursor, &mut self.sequences);
        }
    }
}
