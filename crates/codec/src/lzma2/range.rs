//! The range coder: bits with adaptive probabilities in, bytes out.
//!
//! **Invariant:** the output decodes by the LZMA range decoder, which starts with five bytes
//! of which the first is zero. Carries reach back into bytes that are written already.

/// Bits of a probability; 1 << 11 is certainty.
pub(super) const PROBABILITY_BITS: u32 = 11;

/// The probability of a bit that nothing is known of.
pub(super) const EVEN: u16 = 1 << (PROBABILITY_BITS - 1);

/// How fast a probability adapts.
const MOVE_BITS: u32 = 5;

/// Below this the range is widened by a byte.
const NARROW: u32 = 1 << 24;

/// The bytes that the end of the code takes at most.
const FLUSH: usize = 5;

/// A range encoder with its output.
#[derive(Debug, Clone)]
pub(super) struct RangeEncoder {
    low: u64,
    range: u32,
    /// The last byte that a carry may still change, and how many bytes of 0xff follow it.
    cache: u8,
    pending: usize,
    out: Vec<u8>,
}

impl RangeEncoder {
    /// Makes an encoder with room for a chunk.
    pub(super) fn new() -> Self {
        Self {
            low: 0,
            range: u32::MAX,
            cache: 0,
            pending: 0,
            out: Vec::with_capacity(1 << 16),
        }
    }

    /// Starts a new code.
    pub(super) fn restart(&mut self) {
        self.low = 0;
        self.range = u32::MAX;
        self.cache = 0;
        self.pending = 0;
        self.out.clear();
    }

    /// Returns how many bytes the code has if it ends here.
    #[inline]
    pub(super) fn len_if_finished(&self) -> usize {
        self.out.len() + self.pending + FLUSH
    }

    /// Ends the code and gives its bytes.
    pub(super) fn finish(&mut self) -> &[u8] {
        for _ in 0..FLUSH {
            self.shift();
        }
        &self.out
    }

    /// Encodes a bit (0 or 1) and lets its probability learn.
    #[inline(always)]
    pub(super) fn bit(&mut self, probability: &mut u16, bit: u32) {
        let p = u32::from(*probability);
        let bound = (self.range >> PROBABILITY_BITS).wrapping_mul(p);
        // without a branch: the bits that this coder gets are hard to predict
        let one = 0u32.wrapping_sub(bit);
        self.low = self.low.wrapping_add(u64::from(bound & one));
        let rest = self.range.wrapping_sub(bound);
        self.range = bound ^ ((bound ^ rest) & one);
        let goal = ((1 << PROBABILITY_BITS) - (1 << MOVE_BITS) + 1) & !one;
        let step = p.wrapping_sub(goal).cast_signed() >> MOVE_BITS;
        *probability = p.wrapping_sub(step.cast_unsigned()) as u16;
        if self.range < NARROW {
            self.range <<= 8;
            self.shift();
        }
    }

    /// Encodes the low `count` bits of a value, highest first, each as likely as not.
    #[inline]
    pub(super) fn direct(&mut self, value: u32, count: u32) {
        for index in (0..count).rev() {
            self.range >>= 1;
            let one = 0u32.wrapping_sub((value >> index) & 1);
            self.low = self.low.wrapping_add(u64::from(self.range & one));
            if self.range < NARROW {
                self.range <<= 8;
                self.shift();
            }
        }
    }

    /// Encodes the low `BITS` bits of a value, highest first, in a tree of probabilities.
    #[inline(always)]
    pub(super) fn tree<const SIZE: usize>(
        &mut self,
        tree: &mut [u16; SIZE],
        bits: u32,
        value: u32,
    ) {
        let mut node = 1usize;
        for index in (0..bits).rev() {
            let bit = (value >> index) & 1;
            self.bit(&mut tree[node & (SIZE - 1)], bit);
            node = node << 1 | bit as usize;
        }
    }

    /// Encodes the low `bits` bits of a value, lowest first, in a tree of probabilities.
    #[inline]
    pub(super) fn reverse_tree<const SIZE: usize>(
        &mut self,
        tree: &mut [u16; SIZE],
        bits: u32,
        value: u32,
    ) {
        let mut node = 1usize;
        for index in 0..bits {
            let bit = (value >> index) & 1;
            self.bit(&mut tree[node & (SIZE - 1)], bit);
            node = node << 1 | bit as usize;
        }
    }

    /// Moves the highest byte of `low` out.
    #[inline]
    fn shift(&mut self) {
        let carry = (self.low >> 32) as u8;
        let top = (self.low >> 24) as u8;
        if carry != 0 || top != 0xff {
            self.out.push(self.cache.wrapping_add(carry));
            while self.pending > 0 {
                self.out.push(0xffu8.wrapping_add(carry));
                self.pending -= 1;
            }
            self.cache = top;
        } else {
            self.pending += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }
}
