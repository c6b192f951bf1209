//! A slice of a block in, LZMA2 chunks out: the parser and the coder together.
//!
//! Slices are coded apart from each other, so that several threads share a block: each begins with
//! new probabilities, but its matches reach back into the slices before it.
//!
//! **Invariant:** the result does not depend on what a thread encoded before.

mod micro;

use crate::match_finder::{Finder, NOISE_PIECE, Search, Slice, is_noise};

use super::chunk::ChunkWriter;
use super::coder::{Coder, Symbol};
use super::effort::{Effort, Parser};
use super::lazy;
use super::model::{MIN_MATCH, Properties};
use super::optimal::{Input, Optimal};

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

impl Settings<'_> {
    /// Returns how far the match table looks.
    pub(super) fn search(self) -> Search {
        Search {
            depth: self.effort.depth,
            reach: self.reach as usize,
        }
    }
}

/// What a thread needs to encode slices.
#[derive(Debug)]
pub(super) struct SliceEncoder {
    finder: Finder<MIN_MATCH>,
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
                if is_noise(&block[slice.base..], position - slice.base, slice.table) {
                    position = block.len().min(position + NOISE_PIECE);
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

    /// Forgets other slices and looks at the bytes just before this one.
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
