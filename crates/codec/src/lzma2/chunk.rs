//! LZMA2: the symbols of a block in chunks, each compressed or stored.
//!
//! In: a block and its parser. Out: chunks (the .xz file format, section 5.3.1, leaves them to the
//! LZMA2 decoder; they are described at en.wikipedia.org/wiki/Lempel-Ziv-Markov_chain_algorithm).
//!
//! **Invariant:** a chunk has at most 2 MiB of content and 64 KiB of code; the first of a block
//! resets all, the first of a slice all but the content before, the one after a stored chunk the
//! state.

use super::coder::{Coder, Symbol};

/// The most content of a compressed chunk.
const MAX_CONTENT: usize = 1 << 21;

/// The most code of a chunk, and the most content of a stored one.
const MAX_CODE: usize = 1 << 16;

/// More than the code of one symbol.
pub(super) const SYMBOL_ROOM: usize = 32;

/// What must be reset before the next chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reset {
    Nothing,
    State,
    Properties,
    Everything,
}

/// A writer of chunks.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    out: Vec<u8>,
    reset: Reset,
    begin: usize,
}

impl ChunkWriter {
    /// Makes a writer for the slice of a block that begins at a position.
    pub(super) fn new(begin: usize) -> Self {
        let reset = match begin {
            0 => Reset::Everything,
            _ => Reset::Properties,
        };
        Self {
            out: Vec::new(),
            reset,
            begin,
        }
    }

    /// Returns whether a symbol at a position still fits the chunk.
    #[inline(always)]
    pub(super) fn fits(&self, coder: &Coder, position: usize, symbol: Symbol) -> bool {
        coder.range.len_if_finished() + SYMBOL_ROOM <= MAX_CODE
            && position + symbol.length as usize - self.begin <= MAX_CONTENT
    }

    /// Returns where the chunk begins.
    pub(super) fn begin(&self) -> usize {
        self.begin
    }

    /// Ends the chunk at a position. Returns whether the coder was reset, because the content is
    /// stored.
    pub(super) fn end_chunk(&mut self, coder: &mut Coder, block: &[u8], position: usize) -> bool {
        let content = &block[self.begin..position];
        if content.is_empty() {
            return false;
        }
        let code = coder.range.finish();
        let stored = code.len() >= content.len();
        if stored {
            self.store(block, position);
            coder.reset_state();
        } else {
            let reset = match self.reset {
                Reset::Nothing => 0,
                Reset::State => 1,
                Reset::Properties => 2,
                Reset::Everything => 3,
            };
            let [_, high, middle, low] = (content.len() as u32 - 1).to_be_bytes();
            self.out.extend([0x80 | reset << 5 | high, middle, low]);
            self.out.extend(((code.len() - 1) as u16).to_be_bytes());
            if self.reset >= Reset::Properties {
                self.out.push(coder.properties.byte());
            }
            self.out.extend(code);
            self.reset = Reset::Nothing;
            self.begin = position;
        }
        coder.range.restart();
        stored
    }

    /// Stores the content up to a position.
    pub(super) fn store(&mut self, block: &[u8], position: usize) {
        for piece in block[self.begin..position].chunks(MAX_CODE) {
            let control = if self.reset == Reset::Everything {
                1
            } else {
                2
            };
            self.out.push(control);
            self.out.extend(((piece.len() - 1) as u16).to_be_bytes());
            self.out.extend(piece);
            self.reset = match self.reset {
                Reset::Everything | Reset::Properties => Reset::Properties,
                Reset::Nothing | Reset::State => Reset::State,
            };
        }
        self.begin = position;
    }

    /// Returns all that was written.
    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }
}
