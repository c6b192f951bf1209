//! Prefix codes that adapt: the code is rebuilt from symbol frequencies every N symbols.
//!
//! **Invariant:** every symbol has a codeword, of at most 15 bits. When a code is rebuilt, its
//! counts are halved, so that newer symbols count more; the first code has equal counts.

use sinterfs_model::Result;

use crate::prefix_code::{Codewords, DecodeTable, LengthBuilder, WordReader, WordWriter};

/// The longest codeword in bits.
const MAX_LEN: usize = 15;

/// How often symbols occurred, and the lengths of their codewords.
#[derive(Debug)]
pub(super) struct SymbolCounts {
    counts: Vec<u32>,
    lengths: Vec<u8>,
    builder: LengthBuilder,
    period: u32,
    left: u32,
}

impl SymbolCounts {
    /// Makes counts of `symbols` symbols, for a code that adapts after `period` of them.
    pub(super) fn new((symbols, period): (usize, u32)) -> Self {
        let mut counts = Self {
            counts: vec![1; symbols],
            lengths: vec![0; symbols],
            builder: LengthBuilder::default(),
            period,
            left: period,
        };
        counts.make();
        counts
    }

    /// Returns the lengths of the codewords.
    pub(super) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Counts a symbol; returns whether the lengths changed.
    #[inline]
    pub(super) fn add(&mut self, symbol: u16) -> bool {
        if let Some(count) = self.counts.get_mut(usize::from(symbol)) {
            *count += 1;
        }
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = self.period;
        self.make();
        for count in &mut self.counts {
            *count = (*count >> 1) + 1;
        }
        true
    }

    fn make(&mut self) {
        self.builder.build(&self.counts, MAX_LEN, &mut self.lengths);
    }
}

/// A code that is decoded.
#[derive(Debug)]
pub(super) struct AdaptiveDecoder {
    counts: SymbolCounts,
    table: DecodeTable,
}

impl AdaptiveDecoder {
    pub(super) fn new(shape: (usize, u32)) -> Result<Self> {
        let counts = SymbolCounts::new(shape);
        let mut table = DecodeTable::new();
        table.build(counts.lengths())?;
        Ok(Self { counts, table })
    }

    /// Decodes a symbol.
    #[inline]
    pub(super) fn decode(&mut self, reader: &mut WordReader<'_, true>) -> Result<u16> {
        reader.ensure(16);
        let symbol = self.table.decode(reader)?;
        if self.counts.add(symbol) {
            self.table.build(self.counts.lengths())?;
        }
        Ok(symbol)
    }
}

/// A code that is written.
#[derive(Debug)]
pub(super) struct AdaptiveEncoder {
    counts: SymbolCounts,
    words: Codewords,
    /// How often the code was made.
    pub(super) made: u32,
}

impl AdaptiveEncoder {
    pub(super) fn new(shape: (usize, u32)) -> Self {
        let counts = SymbolCounts::new(shape);
        let words = Codewords::with_lengths(counts.lengths().to_vec());
        Self {
            counts,
            words,
            made: 1,
        }
    }

    /// Returns the lengths of the codewords.
    pub(super) fn lengths(&self) -> &[u8] {
        &self.words.lengths
    }

    /// Encodes a symbol.
    #[inline]
    pub(super) fn encode(&mut self, symbol: usize, writer: &mut WordWriter<0>) {
        self.words.put(symbol, writer);
        if self.counts.add(u16::try_from(symbol).unwrap_or(u16::MAX)) {
            self.words = Codewords::with_lengths(self.counts.lengths().to_vec());
            self.made += 1;
        }
    }
}
