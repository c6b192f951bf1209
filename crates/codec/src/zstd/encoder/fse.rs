//! Finite state entropy (RFC 8878, section 4.1): distributions, their descriptions, and the states
//! of an encoder.
//!
//! In: counts of symbols. Out: a normalized distribution, its description in bits, and a table by
//! which symbols are encoded, the last one first.
//!
//! **Invariant:** the probabilities of a distribution add up to the size of its table (-1 counts as
//! one).

use super::bits::BitWriter;
use super::codes::MAX_CODES;
use super::logarithm::{FRACTION, log2};

/// The smallest table, as a power of two.
pub(super) const MIN_LOG: u32 = 5;

/// The largest table of any kind of symbol, as a power of two.
const MAX_LOG: u32 = 9;

/// A normalized distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Distribution {
    /// The size of its table as a power of two.
    pub(super) log: u32,
    /// Probabilities of the symbols, in parts of the table; -1 is less than one part.
    parts: [i16; MAX_CODES],
    /// Symbols up to the last that occurs.
    symbols: usize,
}

impl Distribution {
    /// Makes a predefined distribution.
    pub(super) fn predefined(log: u32, parts: &[i16]) -> Self {
        let mut distribution = Self {
            log,
            parts: [0; MAX_CODES],
            symbols: parts.len(),
        };
        for (part, &value) in distribution.parts.iter_mut().zip(parts) {
            *part = value;
        }
        distribution
    }

    /// Makes the distribution that suits some counts best. At least two symbols have to occur, and
    /// the table must have room for all of them.
    pub(super) fn of_counts(counts: &[u32], log: u32) -> Self {
        let size = 1u64 << log;
        let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let mut parts = [0i16; MAX_CODES];
        let mut given = 0;
        for (part, &count) in parts.iter_mut().zip(counts) {
            if count > 0 {
                let share = (u64::from(count) * size / total.max(1)).max(1);
                *part = share as i16;
                given += share;
            }
        }
        // what one part more saves a symbol, and what one less costs it
        let gain = |count: u32, part: i16| {
            u64::from(count) * u64::from(log2(part as u32 + 1) - log2(part as u32))
        };
        let occurring = || (0..counts.len().min(MAX_CODES)).filter(|&symbol| counts[symbol] > 0);
        while given < size {
            let Some(best) = occurring().max_by_key(|&symbol| gain(counts[symbol], parts[symbol]))
            else {
                break;
            };
            parts[best] += 1;
            given += 1;
        }
        while given > size {
            let shrinkable = occurring().filter(|&symbol| parts[symbol] > 1);
            let Some(least) =
                shrinkable.min_by_key(|&symbol| gain(counts[symbol], parts[symbol] - 1))
            else {
                break;
            };
            parts[least] -= 1;
            given -= 1;
        }
        let symbols = occurring().next_back().map_or(0, |last| last + 1);
        Self {
            log,
            parts,
            symbols,
        }
    }

    /// Returns what symbols so frequent cost, in fractions of a bit; `None` if one has no
    /// probability.
    pub(super) fn cost(&self, counts: &[u32]) -> Option<u64> {
        let mut cost = 0;
        for (&count, &part) in counts.iter().zip(&self.parts) {
            if count > 0 {
                if part == 0 {
                    return None;
                }
                let bits = (self.log << FRACTION) - log2(part.unsigned_abs().into());
                cost += u64::from(count) * u64::from(bits);
            }
        }
        let beyond = counts.iter().skip(self.parts.len()).any(|&count| count > 0);
        (!beyond).then_some(cost + (u64::from(self.log) << FRACTION))
    }

    /// Writes the description.
    pub(super) fn describe(&self, out: &mut Vec<u8>) {
        let mut bits = BitWriter::new(out);
        bits.add(self.log - MIN_LOG, 4);
        let mut left = (1i32 << self.log) + 1;
        let mut threshold = 1i32 << self.log;
        let mut width = self.log + 1;
        let mut parts = self.parts.iter().take(self.symbols).copied().peekable();
        while let Some(part) = parts.next() {
            // values below a limit take a bit less
            let limit = 2 * threshold - 1 - left;
            left -= i32::from(part.unsigned_abs());
            let mut value = i32::from(part) + 1;
            if value >= threshold {
                value += limit;
            }
            bits.add(value as u32, width - u32::from(value < limit));
            bits.flush();
            if part == 0 {
                let mut zeros = 0;
                while parts.next_if_eq(&0).is_some() {
                    zeros += 1;
                }
                while zeros >= 3 {
                    bits.add(3, 2);
                    bits.flush();
                    zeros -= 3;
                }
                bits.add(zeros, 2);
                bits.flush();
            }
            while left < threshold && width > 1 {
                width -= 1;
                threshold >>= 1;
            }
        }
        bits.finish();
    }
}

/// How a symbol changes the state.
#[derive(Debug, Clone, Copy, Default)]
struct Transition {
    /// Added to the state, the number of bits that it gives out, times 65536.
    bits: u32,
    /// Where the symbol's next states begin, less the least state that it takes.
    first: i32,
}

/// The table of an encoder.
#[derive(Debug, Clone)]
pub(super) struct EncodingTable {
    log: u32,
    states: [u16; 1 << MAX_LOG],
    transitions: [Transition; MAX_CODES],
}

impl EncodingTable {
    /// Makes the table of a distribution.
    pub(super) fn new(distribution: &Distribution) -> Self {
        let log = distribution.log;
        let size = 1usize << log;
        let parts = distribution.parts.iter().take(distribution.symbols);
        let mut symbols = [0u8; 1 << MAX_LOG];
        // symbols of the least probability are at the end
        let mut high = size;
        for (symbol, _) in (0..).zip(parts.clone()).filter(|&(_, &part)| part == -1) {
            high -= 1;
            symbols[high] = symbol;
        }
        let step = (size >> 1) + (size >> 3) + 3;
        let mut at = 0;
        for (symbol, &part) in (0..).zip(parts.clone()) {
            for _ in 0..part.max(0) {
                symbols[at] = symbol;
                at = (at + step) & (size - 1);
                while at >= high {
                    at = (at + step) & (size - 1);
                }
            }
        }
        let mut transitions = [Transition::default(); MAX_CODES];
        let mut starts = [0u16; MAX_CODES];
        let mut total = 0u16;
        for (symbol, &part) in parts.enumerate() {
            let width = part.unsigned_abs();
            starts[symbol] = total;
            let most = match width {
                0 => log + 1,
                1 => log,
                _ => log - u32::from(width - 1).ilog2(),
            };
            let least = u32::from(width.max(1)) << most;
            transitions[symbol] = Transition {
                bits: (most << 16).wrapping_sub(least),
                first: i32::from(total) - i32::from(width),
            };
            total += width;
        }
        let mut states = [0u16; 1 << MAX_LOG];
        for (state, &symbol) in symbols.iter().take(size).enumerate() {
            let next = &mut starts[usize::from(symbol)];
            states[usize::from(*next)] = (size + state) as u16;
            *next += 1;
        }
        Self {
            log,
            states,
            transitions,
        }
    }

    #[inline(always)]
    fn transition(&self, symbol: u8) -> Transition {
        self.transitions[usize::from(symbol).min(MAX_CODES - 1)]
    }

    #[inline(always)]
    fn next(&self, state: u32, count: u32, first: i32) -> u32 {
        let index = ((state >> (count & 31)) as i32).wrapping_add(first);
        u32::from(self.states[index as usize & ((1 << MAX_LOG) - 1)])
    }

    /// Returns the state that stands for the last symbol.
    #[inline(always)]
    pub(super) fn last(&self, symbol: u8) -> State {
        let Transition { bits, first } = self.transition(symbol);
        let count = bits.wrapping_add(1 << 15) >> 16;
        let state = (count << 16).wrapping_sub(bits);
        State(self.next(state, count, first))
    }

    /// Puts a symbol before those that a state stands for.
    #[inline(always)]
    pub(super) fn encode(&self, state: &mut State, symbol: u8, out: &mut BitWriter<'_>) {
        let Transition { bits, first } = self.transition(symbol);
        let count = state.0.wrapping_add(bits) >> 16;
        out.add(state.0, count);
        state.0 = self.next(state.0, count, first);
    }

    /// Writes the state that a decoder starts with.
    #[inline(always)]
    pub(super) fn finish(&self, state: State, out: &mut BitWriter<'_>) {
        out.add(state.0, self.log);
    }
}

/// What stands for the symbols that are encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct State(u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_the_table() {
        let counts: [&[u32]; 4] = [
            &[1, 1],
            &[100_000, 0, 1, 0, 0, 0, 0, 0, 1],
            &[5; 32],
            &[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3],
        ];
        for counts in counts {
            for log in MIN_LOG..=MAX_LOG {
                let distribution = Distribution::of_counts(counts, log);
                let sum: i32 = distribution.parts.iter().map(|&part| i32::from(part)).sum();
                assert_eq!(sum, 1 << log, "{counts:?}");
                assert!(distribution.cost(counts).is_some());
            }
        }
    }
}
