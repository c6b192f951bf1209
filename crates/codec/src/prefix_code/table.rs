//! Tables by which codewords are decoded.
//!
//! In: the length of each symbol's codeword, 0 for symbols without one. Out: symbols of a stream.
//!
//! **Invariant:** a code is never oversubscribed. One that is incomplete has no symbol for some
//! bits, which is an error when they are read, not before.

use sinterfs_model::{Error, Result};

use super::lengths::MAX_SYMBOLS;
use super::reader::WordReader;

/// The longest codeword in bits.
const MAX_LEN: usize = 16;

/// Bits of the table's index; longer codewords take a search among the lengths.
const INDEX_BITS: u32 = 10;

/// A table for one code.
#[derive(Debug)]
pub(crate) struct DecodeTable {
    /// For the next `INDEX_BITS` bits: the symbol times 32 plus the length of its codeword, or 0.
    short: Vec<u16>,
    /// The symbols in the order of their codewords.
    symbols: Vec<u16>,
    /// For each length: the codeword after its last one, aligned to `MAX_LEN` bits, and what to
    /// add to a codeword of this length for its index in `symbols`.
    long: [(u32, i32); MAX_LEN + 1],
}

impl DecodeTable {
    /// Makes a table without symbols.
    pub(crate) fn new() -> Self {
        Self {
            short: vec![0; 1 << INDEX_BITS],
            symbols: Vec::new(),
            long: [(0, 0); MAX_LEN + 1],
        }
    }

    /// Makes the table for codewords of these lengths. Fails with `Corrupt` if they are more than
    /// there can be.
    pub(crate) fn build(&mut self, lengths: &[u8]) -> Result<()> {
        debug_assert!(lengths.len() <= MAX_SYMBOLS);
        let mut counts = [0_u32; MAX_LEN + 1];
        for &len in lengths {
            let count = counts.get_mut(usize::from(len));
            *count.ok_or_else(|| Error::corrupt(format!("a codeword of {len} bits")))? += 1;
        }
        let mut starts = self.fill_long(&counts)?;
        self.symbols.clear();
        self.symbols.resize(lengths.len(), 0);
        for (symbol, &len) in (0_u16..).zip(lengths) {
            if let Some(start) = starts.get_mut(usize::from(len)).filter(|_| len > 0) {
                if let Some(room) = self.symbols.get_mut(*start as usize) {
                    *room = symbol;
                }
                *start += 1;
            }
        }
        self.fill_short(&counts);
        Ok(())
    }

    /// Computes the ranges of the codewords of each length, and returns the index of its first
    /// symbol.
    fn fill_long(&mut self, counts: &[u32; MAX_LEN + 1]) -> Result<[u32; MAX_LEN + 1]> {
        let mut starts = [0; MAX_LEN + 1];
        let (mut code, mut index) = (0_u32, 0_u32);
        let per_length = starts.iter_mut().zip(&mut self.long).zip(counts);
        for (len, ((start, long), &count)) in (0_u32..).zip(per_length).skip(1) {
            code <<= 1;
            *start = index;
            let offset = i64::from(index) - i64::from(code);
            code += count;
            index += count;
            if code > 1 << len {
                return Err(Error::corrupt("more codewords than there can be"));
            }
            *long = (code << (16 - len), i32::try_from(offset).unwrap_or(0));
        }
        Ok(starts)
    }

    fn fill_short(&mut self, counts: &[u32; MAX_LEN + 1]) {
        let mut symbols = self.symbols.iter();
        let mut filled = 0;
        for (len, &count) in (0_u32..=INDEX_BITS).zip(counts).skip(1) {
            let span = 1_usize << (INDEX_BITS - len);
            for symbol in symbols.by_ref().take(count as usize) {
                let entry = (symbol << 5) | u16::try_from(len).unwrap_or(0);
                if let Some(room) = self.short.get_mut(filled..filled + span) {
                    room.fill(entry);
                }
                filled += span;
            }
        }
        if let Some(rest) = self.short.get_mut(filled..) {
            rest.fill(0);
        }
    }

    /// Decodes a symbol. The reader must have 16 bits ([`WordReader::ensure`]).
    #[inline]
    pub(crate) fn decode<const BACKWARD: bool>(
        &self,
        reader: &mut WordReader<'_, BACKWARD>,
    ) -> Result<u16> {
        let index = reader.peek(INDEX_BITS) as usize;
        let entry = self.short.get(index).copied().unwrap_or(0);
        if entry != 0 {
            reader.skip(u32::from(entry & 31));
            return Ok(entry >> 5);
        }
        self.decode_long(reader)
    }

    #[cold]
    fn decode_long<const BACKWARD: bool>(
        &self,
        reader: &mut WordReader<'_, BACKWARD>,
    ) -> Result<u16> {
        let next = reader.peek(16);
        let by_length = (0_u32..).zip(&self.long).skip(INDEX_BITS as usize + 1);
        for (len, &(end, offset)) in by_length {
            if next < end {
                reader.skip(len);
                let index = i64::from(next >> (16 - len)) + i64::from(offset);
                let symbol = usize::try_from(index).map(|index| self.symbols.get(index));
                return symbol.ok().flatten().copied().ok_or_else(no_symbol);
            }
        }
        Err(no_symbol())
    }
}

#[cold]
fn no_symbol() -> Error {
    Error::corrupt("bits that are no codeword")
}
