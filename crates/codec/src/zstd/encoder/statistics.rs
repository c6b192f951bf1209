//! The frequency of each code, and its price.
//!
//! In: content and its sequences. Out: counts of literals and codes, and an estimate of the bits
//! that a block of them takes.

use super::block::Sequence;
use super::codes::{
    LITERAL_LENGTH_CODES, LITERAL_LENGTH_DEFAULT, MATCH_LENGTH_CODES, MATCH_LENGTH_DEFAULT,
    MIN_MATCH, OFFSET_CODES, OFFSET_DEFAULT, literal_length_bits, literal_length_code,
    match_length_bits, match_length_code, offset_code,
};
use super::logarithm::{FRACTION, log2};
use super::offsets::RecentOffsets;

/// Counts of literals and codes.
#[derive(Debug, Clone)]
pub(super) struct Statistics {
    pub(super) literals: [u32; 256],
    pub(super) literal_lengths: [u32; LITERAL_LENGTH_CODES],
    pub(super) match_lengths: [u32; MATCH_LENGTH_CODES],
    pub(super) offsets: [u32; OFFSET_CODES],
    /// Bits that follow codes.
    extra_bits: u64,
}

/// Bytes of a block that do not depend on its content: headers, ends of streams.
const FIXED: u64 = 30;

/// Bits of a description for each symbol that occurs, roughly.
const PER_LITERAL: u64 = 3;
const PER_CODE: u64 = 4;

impl Statistics {
    /// Makes statistics of nothing.
    pub(super) const fn new() -> Self {
        Self {
            literals: [0; 256],
            literal_lengths: [0; LITERAL_LENGTH_CODES],
            match_lengths: [0; MATCH_LENGTH_CODES],
            offsets: [0; OFFSET_CODES],
            extra_bits: 0,
        }
    }

    /// Guesses the statistics of some content.
    pub(super) fn guess(content: &[u8]) -> Self {
        let mut guess = Self::new();
        guess.literals = [1; 256];
        guess.add_literals(content);
        let guessed = |counts: &mut [u32], parts: &[i16]| {
            for (count, &part) in counts.iter_mut().zip(parts) {
                *count = part.unsigned_abs().into();
            }
        };
        guessed(&mut guess.literal_lengths, &LITERAL_LENGTH_DEFAULT);
        guessed(&mut guess.match_lengths, &MATCH_LENGTH_DEFAULT);
        guessed(&mut guess.offsets, &OFFSET_DEFAULT);
        guess
    }

    /// Adds literals.
    pub(super) fn add_literals(&mut self, literals: &[u8]) {
        for &literal in literals {
            self.literals[usize::from(literal)] += 1;
        }
    }

    /// Adds the codes of a sequence whose offset is named by a value.
    #[inline(always)]
    fn add(&mut self, sequence: Sequence, value: u32) {
        let literals = literal_length_code(sequence.literals).min(LITERAL_LENGTH_CODES as u8 - 1);
        let length = match_length_code(sequence.length.wrapping_sub(MIN_MATCH as u32))
            .min(MATCH_LENGTH_CODES as u8 - 1);
        let offset = offset_code(value);
        self.literal_lengths[usize::from(literals)] += 1;
        self.match_lengths[usize::from(length)] += 1;
        self.offsets[usize::from(offset)] += 1;
        let bits = literal_length_bits(literals) + match_length_bits(length) + u32::from(offset);
        self.extra_bits += u64::from(bits);
    }

    /// Adds sequences of a block from a cursor on, with their literals, and moves the cursor to
    /// the end of the last one.
    pub(super) fn add_sequences(
        &mut self,
        block: &[u8],
        cursor: &mut (usize, RecentOffsets),
        sequences: &[Sequence],
    ) {
        let (position, recent) = cursor;
        for &sequence in sequences {
            let literals = *position + sequence.literals as usize;
            self.add_literals(&block[*position..literals]);
            let value = recent.name(sequence.offset, sequence.literals > 0);
            self.add(sequence, value);
            *position = literals + sequence.length as usize;
        }
    }

    /// Adds all of other statistics.
    pub(super) fn merge(&mut self, other: &Self) {
        fn add(to: &mut [u32], from: &[u32]) {
            for (to, &from) in to.iter_mut().zip(from) {
                *to += from;
            }
        }
        add(&mut self.literals, &other.literals);
        add(&mut self.literal_lengths, &other.literal_lengths);
        add(&mut self.match_lengths, &other.match_lengths);
        add(&mut self.offsets, &other.offsets);
        self.extra_bits += other.extra_bits;
    }

    /// Halves the weight of the counts so far.
    pub(super) fn halve(&mut self) {
        let counts = self
            .literals
            .iter_mut()
            .chain(&mut self.literal_lengths)
            .chain(&mut self.match_lengths)
            .chain(&mut self.offsets);
        for count in counts {
            *count >>= 1;
        }
    }

    /// Estimates the bits of a block, in fractions of a bit.
    pub(super) fn cost(&self) -> u64 {
        let literals: u64 = self.literals.iter().map(|&count| u64::from(count)).sum();
        let as_they_are = (literals * 8) << FRACTION;
        let coded = entropy(&self.literals, PER_LITERAL).min(as_they_are);
        let codes = entropy(&self.literal_lengths, PER_CODE)
            + entropy(&self.match_lengths, PER_CODE)
            + entropy(&self.offsets, PER_CODE);
        coded + codes + ((self.extra_bits + FIXED * 8) << FRACTION)
    }
}

/// Returns what symbols so frequent take at least, with a description of their distribution.
fn entropy(counts: &[u32], per_symbol: u64) -> u64 {
    let (mut total, mut sum, mut symbols) = (0u32, 0u64, 0u64);
    for &count in counts {
        if count > 0 {
            total += count;
            sum += u64::from(count) * u64::from(log2(count));
            symbols += 1;
        }
    }
    let all = u64::from(total) * u64::from(log2(total));
    all.saturating_sub(sum) + ((symbols * per_symbol) << FRACTION)
}
