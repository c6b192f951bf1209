//! What literals and matches cost by some statistics, in fractions of a bit.
//!
//! **Invariant:** prices only steer the parser: a wrong one costs bytes, never correctness. They
//! are integers, so that every machine chooses alike.

use super::codes::{
    LITERAL_LENGTH_CODES, MATCH_LENGTH_CODES, MIN_MATCH, OFFSET_CODES, literal_length_bits,
    literal_length_code, match_length_bits, match_length_code, offset_code,
};
use super::logarithm;
use super::statistics::Statistics;

/// Parts of a bit, as a power of two.
const FRACTION: u32 = 8;

/// More than any path costs, yet far from overflow.
pub(super) const INFINITE: u32 = 1 << 30;

/// Lengths of matches whose prices are worked out ahead.
pub(super) const LENGTHS: usize = 1 << 8;

/// Numbers of literals whose prices are worked out ahead.
const RUNS: usize = 64;

/// The prices of all codes.
#[derive(Debug)]
pub(super) struct Prices {
    pub(super) literals: [u32; 256],
    runs: [u32; RUNS],
    literal_lengths: [u32; LITERAL_LENGTH_CODES],
    /// By a match's length less the shortest.
    pub(super) lengths: Vec<u32>,
    offsets: [u32; OFFSET_CODES],
}

impl Prices {
    /// Makes prices, which must be worked out.
    pub(super) fn new() -> Self {
        Self {
            literals: [0; 256],
            runs: [0; RUNS],
            literal_lengths: [0; LITERAL_LENGTH_CODES],
            lengths: vec![0; LENGTHS],
            offsets: [0; OFFSET_CODES],
        }
    }

    /// Works out the prices by some statistics.
    pub(super) fn refresh(&mut self, statistics: &Statistics) {
        price(&statistics.literals, &mut self.literals);
        price(&statistics.literal_lengths, &mut self.literal_lengths);
        for (code, price) in (0..).zip(&mut self.literal_lengths) {
            *price += literal_length_bits(code) << FRACTION;
        }
        for (run, price) in (0..).zip(&mut self.runs) {
            *price = self.literal_lengths[usize::from(literal_length_code(run))];
        }
        let mut match_lengths = [0; MATCH_LENGTH_CODES];
        price(&statistics.match_lengths, &mut match_lengths);
        for (rest, price) in (0..).zip(&mut self.lengths) {
            let code = match_length_code(rest);
            *price = match_lengths[usize::from(code)] + (match_length_bits(code) << FRACTION);
        }
        price(&statistics.offsets, &mut self.offsets);
        for (code, price) in (0..).zip(&mut self.offsets) {
            *price += code << FRACTION;
        }
    }

    /// Returns the price of a number of literals.
    #[inline(always)]
    pub(super) fn run(&self, literals: u32) -> u32 {
        match self.runs.get(literals as usize) {
            Some(&price) => price,
            None => {
                let code = usize::from(literal_length_code(literals));
                self.literal_lengths[code.min(LITERAL_LENGTH_CODES - 1)]
            }
        }
    }

    /// Returns the price of the value of an offset.
    #[inline(always)]
    pub(super) fn offset(&self, value: u32) -> u32 {
        self.offsets[usize::from(offset_code(value)) & (OFFSET_CODES - 1)]
    }

    /// Returns the prices of lengths from the shortest on.
    #[inline(always)]
    pub(super) fn lengths(&self, range: std::ops::Range<usize>) -> &[u32] {
        let lengths = range.start - MIN_MATCH..range.end - MIN_MATCH;
        self.lengths.get(lengths).unwrap_or_default()
    }
}

/// Computes prices from counts; a symbol that does not occur counts as half.
fn price(counts: &[u32], prices: &mut [u32]) {
    let total: u32 = counts.iter().sum();
    let most = logarithm::log2(total.max(1) * 2);
    for (&count, price) in counts.iter().zip(prices) {
        let bits = most.saturating_sub(logarithm::log2((2 * count).max(1)));
        *price = bits >> (logarithm::FRACTION - FRACTION);
    }
}
