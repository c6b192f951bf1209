//! A block in, LZMA2 chunks out: the table, the parser and the coder together.
//!
//! **Invariant:** what a thread encoded before does not show in the result.

mod micro;

use std::cell::RefCell;

use model::{Error, Result};

use crate::codec::Bcj;

use super::bcj;
use super::chunk::ChunkWriter;
use super::coder::{Coder, Symbol};
use super::container;
use super::effort::{self, Effort, Parser};
use super::lazy;
use super::matches::Finder;
use super::model::Properties;
use super::noise;
use super::optimal::{Input, Optimal};
use super::table::{MAX_SLICE, MatchTable};
use super::trial;

/// The part of a slice that also was at the end of the slice before, so that its matches are known.
const OVERLAP: usize = 4;

/// Says how to encode.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Options {
    /// The effort, from 1 to 9.
    pub(in super::super) level: u32,
    /// The longest distance as a power of two, instead of the block's length.
    pub(in super::super) dict: Option<u32>,
    pub(in super::super) lc: u32,
    pub(in super::super) lp: u32,
    pub(in super::super) pb: u32,
}

impl Options {
    fn properties(self) -> Properties {
        Properties {
            lc: self.lc,
            lp: self.lp,
            pb: self.pb,
        }
    }
}

thread_local! {
    /// Tables are dear to make, so each thread keeps its own.
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new(MAX_SLICE));
}

/// Encodes a block into one .xz stream, after the best of some branch converters if it gains
/// something. `Invalid` if the block has 4 GiB or more.
pub(in super::super) fn encode(
    block: &[u8],
    options: Options,
    candidates: &[Bcj],
) -> Result<Vec<u8>> {
    if u32::try_from(block.len()).is_err() {
        return Err(Error::invalid(format!(
            "lzma2: a block of {} bytes is too long",
            block.len()
        )));
    }
    match trial::best(block, candidates)? {
        Some((bcj, converted)) => Ok(stream(block, &converted, options, Some(bcj))),
        None => Ok(stream(block, block, options, None)),
    }
}

/// Encodes as much of a block of up to `MAX_SLICE` bytes as gives one code of at most `room` bytes,
/// without chunks and an end mark; tells how much that is. The longest distance is `reach`.
pub(in super::super) fn fill(
    block: &[u8],
    options: Options,
    reach: u32,
    room: usize,
) -> (usize, Vec<u8>) {
    let effort = effort::of_level(options.level);
    let block = block.get(..MAX_SLICE).unwrap_or(block);
    ENCODER
        .with_borrow_mut(|encoder| encoder.fill(block, effort, options.properties(), reach, room))
}

/// Makes the stream of a block that is converted already.
pub(super) fn stream(
    block: &[u8],
    converted: &[u8],
    options: Options,
    bcj: Option<Bcj>,
) -> Vec<u8> {
    let reach = block.len().min(MAX_SLICE);
    let dict = container::Dictionary::for_block(reach, options.dict);
    let effort = effort::of_level(options.level);
    let out = container::start(dict, bcj.map(bcj::id));
    let mut out = ENCODER.with_borrow_mut(|encoder| {
        encoder.encode(converted, effort, options.properties(), dict.bytes(), out)
    });
    container::finish(&mut out, block);
    out.shrink_to_fit();
    out
}

/// The tables of an encoder.
pub(super) struct Encoder {
    /// Bytes that the table covers at a time.
    slice: usize,
    table: MatchTable,
    finder: Finder,
    optimal: Optimal,
}

impl Encoder {
    /// Makes an encoder whose table covers at most `slice` bytes at a time, up to [`MAX_SLICE`].
    pub(super) fn new(slice: usize) -> Self {
        Self {
            slice,
            table: MatchTable::new(),
            finder: Finder::new(),
            optimal: Optimal::new(),
        }
    }

    /// Appends a block's chunks to `out`.
    pub(super) fn encode(
        &mut self,
        block: &[u8],
        effort: &Effort,
        properties: Properties,
        reach: u32,
        out: Vec<u8>,
    ) -> Vec<u8> {
        let mut coder = Coder::new(properties);
        let mut chunks = ChunkWriter::new(out);
        let mut symbols: Vec<Symbol> = Vec::new();
        self.finder.start(effort.depth, reach, effort.quads);
        self.optimal.start(effort);
        let (mut base, mut table_end) = (0, 0);
        let mut looked_at = None;
        let mut position = 0;
        while position < block.len() {
            if position >= table_end {
                base = position.saturating_sub(self.slice / OVERLAP);
                table_end = block.len().min(base + self.slice);
                self.table
                    .fill(&block[base..table_end], effort.depth, reach as usize);
                self.finder.rebase(base);
            }
            if chunks.begin() == position && looked_at != Some(position) {
                looked_at = Some(position);
                if noise::is_noise(&block[base..table_end], position - base, &self.table) {
                    position = table_end.min(position + noise::PIECE);
                    chunks.store(block, position);
                    coder.reset_state();
                    symbols.clear();
                    continue;
                }
            }
            if symbols.is_empty() {
                self.parse((block, table_end), &coder, position, effort, &mut symbols);
            }
            let Some(&symbol) = symbols.last() else { break };
            if chunks.fits(&coder, position, symbol) {
                coder.encode(block, position, symbol);
                position += symbol.length as usize;
                symbols.pop();
            } else if chunks.end_chunk(&mut coder, block, position) {
                symbols.clear();
            }
        }
        chunks.end_chunk(&mut coder, block, position);
        chunks.finish()
    }

    /// Finds the next symbols, the last one first.
    fn parse(
        &mut self,
        (block, table_end): (&[u8], usize),
        coder: &Coder,
        position: usize,
        effort: &Effort,
        symbols: &mut Vec<Symbol>,
    ) {
        let input = Input {
            block,
            table: &self.table,
            table_end,
        };
        match effort.parser {
            Parser::Lazy => {
                lazy::parse(input, &self.finder, coder, position, effort.nice, symbols);
            }
            Parser::Optimal => {
                self.optimal
                    .parse(input, &mut self.finder, coder, position, symbols);
            }
        }
    }
}
