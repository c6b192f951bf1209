//! The range coder: decisions with probabilities that adapt to the latest 64 of a state.
//!
//! **Invariant:** the probability of a 0 is its number among the latest 64 decisions of the state,
//! in 64ths, but at least 1 and at most 63.

/// The number of decisions that a probability depends on, as a power of two.
const SHIFT: u32 = 6;

/// The latest decisions of a state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probability {
    /// The newest in the least significant bit.
    latest: u64,
    zeros: u32,
}

impl Default for Probability {
    fn default() -> Self {
        Self {
            latest: 0x5555_5555,
            zeros: 48,
        }
    }
}

impl Probability {
    /// Returns the probability of a 0 in 64ths.
    #[inline]
    pub(super) fn of_zero(self) -> u32 {
        self.zeros.clamp(1, 63)
    }

    /// Takes note of a decision.
    #[inline]
    pub(super) fn update(&mut self, bit: bool) {
        let oldest = u32::from(self.latest >> 63 != 0);
        self.zeros = self.zeros + oldest - u32::from(bit);
        self.latest = (self.latest << 1) | u64::from(bit);
    }
}

/// A kind of decision: a probability for each of the latest sequences of its decisions.
#[derive(Debug, Clone)]
pub(super) struct Decision<const STATES: usize> {
    probabilities: [Probability; STATES],
    state: usize,
}

impl<const STATES: usize> Default for Decision<STATES> {
    fn default() -> Self {
        Self {
            probabilities: [Probability::default(); STATES],
            state: 0,
        }
    }
}

impl<const STATES: usize> Decision<STATES> {
    /// Returns the state that follows another one.
    #[inline]
    pub(super) fn next(state: u8, bit: bool) -> u8 {
        let next = (usize::from(state) << 1) | usize::from(bit);
        u8::try_from(next & (STATES - 1)).unwrap_or(0)
    }

    /// Returns the probability of a 0 in a state, in 64ths.
    #[inline]
    pub(super) fn of_zero(&self, state: u8) -> u32 {
        let probability = self.probabilities.get(usize::from(state));
        probability.map_or(32, |probability| probability.of_zero())
    }

    /// Codes a decision: `code` gets the probability of a 0 in 64ths and returns the bit.
    #[inline]
    pub(super) fn code(&mut self, code: impl FnOnce(u32) -> bool) -> bool {
        let Some(probability) = self.probabilities.get_mut(self.state) else {
            return false;
        };
        let bit = code(probability.of_zero());
        probability.update(bit);
        self.state = ((self.state << 1) | usize::from(bit)) & (STATES - 1);
        bit
    }
}

/// Decodes decisions from words at the start of a stream; past its end, words are zero.
#[derive(Debug)]
pub(super) struct RangeDecoder<'a> {
    rest: &'a [u8],
    range: u32,
    code: u32,
}

impl<'a> RangeDecoder<'a> {
    pub(super) fn new(stream: &'a [u8]) -> Self {
        let mut decoder = Self {
            rest: stream,
            range: u32::MAX,
            code: 0,
        };
        decoder.take_word();
        decoder.take_word();
        decoder
    }

    /// Decodes a decision.
    #[inline]
    pub(super) fn decide<const STATES: usize>(&mut self, decision: &mut Decision<STATES>) -> bool {
        decision.code(|of_zero| self.bit(of_zero))
    }

    #[inline]
    fn bit(&mut self, of_zero: u32) -> bool {
        if self.range >> 16 == 0 {
            self.range <<= 16;
            self.take_word();
        }
        let bound = (self.range >> SHIFT) * of_zero;
        if self.code < bound {
            self.range = bound;
            return false;
        }
        self.range -= bound;
        self.code -= bound;
        true
    }

    #[inline]
    fn take_word(&mut self) {
        let mut word = 0;
        if let Some((first, rest)) = self.rest.split_first_chunk::<2>() {
            self.rest = rest;
            word = u16::from_le_bytes(*first);
        }
        self.code = (self.code << 16) | u32::from(word);
    }
}

/// Encodes decisions to words.
#[derive(Debug)]
pub(super) struct RangeEncoder {
    /// The lower end of the range; a carry is above its 32 bits.
    low: u64,
    range: u32,
    /// The latest word, which a carry may change.
    word: Option<u16>,
    /// Words of ones after it, which a carry would make zero.
    ones: usize,
    bytes: Vec<u8>,
}

impl RangeEncoder {
    pub(super) fn new() -> Self {
        Self {
            low: 0,
            range: u32::MAX,
            word: None,
            ones: 0,
            bytes: Vec::new(),
        }
    }

    /// Encodes a decision.
    #[inline]
    pub(super) fn decide<const STATES: usize>(
        &mut self,
        decision: &mut Decision<STATES>,
        bit: bool,
    ) {
        decision.code(|of_zero| {
            self.bit(of_zero, bit);
            bit
        });
    }

    #[inline]
    fn bit(&mut self, of_zero: u32, bit: bool) {
        if self.range >> 16 == 0 {
            self.range <<= 16;
            self.put_word();
        }
        let bound = (self.range >> SHIFT) * of_zero;
        if bit {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
    }

    /// Moves the highest word of the lower end out.
    fn put_word(&mut self) {
        let [.., carry, _, _, _, _] = self.low.to_be_bytes();
        let [.., high, low, _, _] = self.low.to_be_bytes();
        let word = u16::from_be_bytes([high, low]);
        if carry > 0 || word != u16::MAX {
            if let Some(before) = self.word {
                let before = before.wrapping_add(carry.into());
                self.bytes.extend(before.to_le_bytes());
            }
            let between = if carry > 0 { 0 } else { u8::MAX };
            let len = self.bytes.len() + 2 * self.ones;
            self.bytes.resize(len, between);
            self.ones = 0;
            self.word = Some(word);
        } else {
            self.ones += 1;
        }
        self.low = (self.low & 0xffff) << 16;
    }

    /// Returns all words, and one of zeros: 7-Zip takes it when its range is small after the last
    /// decision, and wants nothing to be left of its code.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for _ in 0..4 {
            self.put_word();
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_come_back() {
        // likely, unlikely and even ones, with runs that carry
        for bias in [1, 100, 128, 255, 256] {
            let bits: Vec<bool> = sinterfs_testkit::noise(bias, 50_000)
                .iter()
                .map(|byte| u64::from(*byte) < bias)
                .collect();
            let mut decisions: [Decision<64>; 2] = Default::default();
            let mut encoder = RangeEncoder::new();
            for (at, bit) in bits.iter().enumerate() {
                encoder.decide(&mut decisions[at % 2], *bit);
            }
            let stream = encoder.finish();
            let mut decisions: [Decision<64>; 2] = Default::default();
            let mut decoder = RangeDecoder::new(&stream);
            for (at, bit) in bits.iter().enumerate() {
                assert_eq!(decoder.decide(&mut decisions[at % 2]), *bit, "{bias} {at}");
            }
        }
    }
}
