//! A slice of a block in, LZMA2 chunks out: the parser and the coder together.
//!
//! Slices are coded apart from each other, so that several threads share a block: each begins with
//! new probabilities, but its matches reach back into the slices before it.
//!
//! **Invariant:** what a thread encoded before does not show in the result.

mod micro;

use super::chunk::ChunkWriter;
use super::coder::{Coder, Symbol};
use super::effort::{Effort, Parser};
use super::lazy;
use super::matches::Finder;
use super::model::Properties;
use super::noise;
use super::optimal::{Input, Optimal};
use super::table::MatchTable;

/// The bytes before a slice in which nearer matches than those of the table are known at its start.
const WARM_UP: usize = 1 << 19;

/// How a slice is encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings<'a> {
    pub(super) effort: &'a Effort,
    pub(super) properties: Properties,
    /// The longest distance.
    pub(super) reach: u32,
}

/// The part of a block that is encoded, and what is known of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice<'a> {
    /// The block up to the end of the slice.
    pub(super) block: &'a [u8],
    /// Where the slice begins.
    pub(super) begin: usize,
    /// The matches of the block from `base` on.
    pub(super) table: &'a MatchTable,
    pub(super) base: usize,
}

/// What a thread needs to encode slices.
#[derive(Debug)]
pub(super) struct SliceEncoder {
    finder: Finder,
    optimal: Optimal,
    symbols: Vec<Symbol>,
}

impl SliceEncoder {
    pub(super) fn new() -> Self {
        Self {
            finder: Finder::new(),
            optimal: Optimal::new(),
            symbols: Vec::new(),
        }
    }

    /// Returns the chunks of a slice.
    pub(super) fn encode(&mut self, slice: Slice<'_>, settings: Settings<'_>) -> Vec<u8> {
        let Slice { block, begin, .. } = slice;
        let mut coder = Coder::new(settings.properties);
        let mut chunks = ChunkWriter::new(begin);
        self.start(slice, settings);
        let mut looked_at = None;
        let mut position = begin;
        while position < block.len() {
            if chunks.begin() == position && looked_at != Some(position) {
                looked_at = Some(position);
                if noise::is_noise(&block[slice.base..], position - slice.base, slice.table) {
                    position = block.len().min(position + noise::PIECE);
                    chunks.store(block, position);
                    coder.reset_state();
                    self.symbols.clear();
                    continue;
                }
            }
            if self.symbols.is_empty() {
                self.parse(slice, &coder, position, settings.effort);
            }
            let Some(&symbol) = self.symbols.last() else {
                break;
            };
            if chunks.fits(&coder, position, symbol) {
                coder.encode(block, position, symbol);
                position += symbol.length as usize;
                self.symbols.pop();
            } else if chunks.end_chunk(&mut coder, block, position) {
                self.symbols.clear();
            }
        }
        chunks.end_chunk(&mut coder, block, position);
        chunks.finish()
    }

    /// Forgets other slices and looks at what is just before this one.
    fn start(&mut self, slice: Slice<'_>, Settings { effort, reach, .. }: Settings<'_>) {
        self.symbols.clear();
        self.optimal.start(effort);
        self.finder
            .start(effort.depth, reach, effort.quads, slice.base);
        let before = slice.begin.saturating_sub(WARM_UP).max(slice.base);
        self.finder.skip(slice.block, before..slice.begin);
    }

    /// Finds the next symbols, the last one first.
    fn parse(&mut self, slice: Slice<'_>, coder: &Coder, position: usize, effort: &Effort) {
        let input = Input {
            block: slice.block,
            table: slice.table,
        };
        let (finder, symbols) = (&mut self.finder, &mut self.symbols);
        match effort.parser {
            Parser::Lazy => lazy::parse(input, finder, coder, position, effort.nice, symbols),
            Parser::Optimal => self.optimal.parse(input, finder, coder, position, symbols),
        }
    }
}
