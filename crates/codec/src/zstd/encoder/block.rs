//! The blocks of a frame (RFC 8878, section 3.1.1.2): compressed where that is shorter, or as they
//! are.
//!
//! In: the content of a block and its sequences. Out: the block.
//!
//! **Invariant:** recent offsets, codes and distributions are at every moment what a decoder has
//! after the same blocks.

use super::huffman::Code;
use super::literals;
use super::offsets::RecentOffsets;
use super::sequences::{self, Coded, Distributions};

/// The most content of a block.
pub(super) const MAX_CONTENT: usize = 128 << 10;

/// Kinds of blocks.
const RAW: u32 = 0;
const COMPRESSED: u32 = 2;

/// Some literals, then a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    pub(super) length: u32,
    pub(super) offset: u32,
}

/// A writer of blocks that follow each other.
#[derive(Debug)]
pub(super) struct BlockWriter {
    out: Vec<u8>,
    recent: RecentOffsets,
    code: Option<Code>,
    distributions: Distributions,
    /// Where the header of the last block is.
    last: Option<usize>,
    literals: Vec<u8>,
    coded: Vec<Coded>,
}

impl BlockWriter {
    /// Makes a writer of blocks from the start of a frame or a slice on.
    pub(super) fn new(recent: RecentOffsets) -> Self {
        Self {
            out: Vec::new(),
            recent,
            code: None,
            distributions: Distributions::default(),
            last: None,
            literals: Vec::new(),
            coded: Vec::new(),
        }
    }

    /// Returns the recent offsets at the end of what was written.
    pub(super) fn recent(&self) -> RecentOffsets {
        self.recent
    }

    /// Writes a block of at most [`MAX_CONTENT`] bytes. What is after the last sequence are
    /// literals.
    pub(super) fn write(&mut self, content: &[u8], sequences: &[Sequence]) {
        let mut recent = self.recent;
        self.gather(content, sequences, &mut recent);
        let header = self.out.len();
        self.out.resize(header + 3, 0);
        let mut distributions = self.distributions;
        let code = literals::write(&self.literals, self.code.as_ref(), &mut self.out);
        sequences::write(&self.coded, &mut distributions, &mut self.out);
        let len = self.out.len() - header - 3;
        if len < content.len() {
            self.recent = recent;
            self.distributions = distributions;
            if code.is_some() {
                self.code = code;
            }
            self.end(header, COMPRESSED, len);
        } else {
            self.out.truncate(header);
            self.raw(content);
        }
    }

    /// Writes a block as it is.
    pub(super) fn raw(&mut self, content: &[u8]) {
        let header = self.out.len();
        self.out.resize(header + 3, 0);
        self.out.extend(content);
        self.end(header, RAW, content.len());
    }

    /// Takes the literals apart, and codes the sequences.
    fn gather(&mut self, content: &[u8], sequences: &[Sequence], recent: &mut RecentOffsets) {
        self.literals.clear();
        self.coded.clear();
        let mut position = 0;
        for &Sequence {
            literals,
            length,
            offset,
        } in sequences
        {
            let end = position + literals as usize;
            self.literals.extend(&content[position..end]);
            position = end + length as usize;
            let value = recent.name(offset, literals > 0);
            self.coded.push(Coded::new(literals, length, value));
        }
        self.literals.extend(&content[position..]);
    }

    fn end(&mut self, header: usize, kind: u32, len: usize) {
        let word = kind << 1 | (len as u32) << 3;
        self.out[header..header + 3].copy_from_slice(&word.to_le_bytes()[..3]);
        self.last = Some(header);
    }

    /// Returns all blocks; the last one is marked as such if the frame ends with it.
    pub(super) fn finish(mut self, is_end: bool) -> Vec<u8> {
        if let (true, Some(last)) = (is_end, self.last) {
            self.out[last] |= 1;
        }
        self.out
    }
}
