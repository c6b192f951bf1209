//! Writes bits to a byte string, most significant first.

/// Collects bits.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    /// The last bits, fewer than 32 between calls.
    word: u64,
    have: u32,
}

impl Writer {
    /// Makes a writer with a capacity in bits.
    pub(super) fn with_capacity(bits: u64) -> Self {
        let bytes = usize::try_from(bits / 8 + 16).unwrap_or(0);
        Self {
            bytes: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    /// Appends the lowest `count` bits of a value, up to 36 of them; those above are ignored.
    #[inline]
    pub(super) fn put(&mut self, value: u64, count: u32) {
        debug_assert!(count <= 36);
        if count > 32 {
            self.put(value >> 32, count - 32);
            return self.put(value, 32);
        }
        if count == 0 {
            return;
        }
        // fewer than 32 and at most 32 more
        self.word = self.word << count | (value & (u64::MAX >> (64 - count)));
        self.have += count;
        if self.have >= 32 {
            self.have -= 32;
            let word = (self.word >> self.have) as u32;
            self.bytes.extend_from_slice(&word.to_be_bytes());
        }
    }

    /// Appends a number in two's complement.
    #[inline]
    pub(super) fn signed(&mut self, value: i32, count: u32) {
        self.put(i64::from(value).cast_unsigned(), count);
    }

    /// Appends zeros and a one.
    pub(super) fn unary(&mut self, zeros: u32) {
        for _ in 0..zeros / 32 {
            self.put(0, 32);
        }
        let rest = zeros % 32;
        self.put(0, rest);
        self.put(1, 1);
    }

    /// Appends Rice codes of zigzagged numbers.
    pub(super) fn rice(&mut self, zigzags: impl Iterator<Item = u32>, parameter: u32) {
        for zigzag in zigzags {
            let high = zigzag >> parameter;
            if high + parameter < 32 {
                let low = u64::from(zigzag) & ((1 << parameter) - 1);
                self.put(1 << parameter | low, high + 1 + parameter);
            } else {
                self.unary(high);
                self.put(zigzag.into(), parameter);
            }
        }
    }

    /// Returns the number of bits so far.
    #[cfg(test)]
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64 * 8 + u64::from(self.have)
    }

    /// Pads the last byte with zeros and returns all bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.put(0, self.have.next_multiple_of(8) - self.have);
        while self.have > 0 {
            self.have -= 8;
            self.bytes.push((self.word >> self.have) as u8);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::bits::Bits;
    use super::*;

    #[test]
    fn written_bits_are_read_back() {
        let mut writer = Writer::default();
        writer.put(5, 3);
        writer.put(u64::MAX, 36);
        writer.signed(-7, 5);
        writer.signed(-7, 33);
        for zeros in [0, 1, 31, 32, 33, 100] {
            writer.unary(zeros);
        }
        writer.rice([0, 9, 500, u32::MAX].into_iter(), 3 + 24);
        writer.rice([0, 9, 500].into_iter(), 0);
        assert_eq!(writer.len(), 3 + 36 + 5 + 33 + 203 + 3 * 28 + 59 + 512);
        let bytes = writer.finish();
        let mut bits = Bits::new(&bytes);
        assert_eq!(bits.take(3).unwrap(), 5);
        assert_eq!(bits.take(36).unwrap(), (1 << 36) - 1);
        assert_eq!(bits.signed(5).unwrap(), -7);
        assert_eq!(bits.signed(33).unwrap(), -7);
        for zeros in [0, 1, 31, 32, 33, 100] {
            assert_eq!(bits.zeros().unwrap(), zeros);
        }
        for zigzag in [0, 9, 500, u64::from(u32::MAX)] {
            assert_eq!(bits.rice(27).unwrap(), (zigzag >> 27, zigzag & 0x7ff_ffff));
        }
        for zigzag in [0, 9, 500] {
            assert_eq!(bits.rice(0).unwrap().0, zigzag);
        }
        bits.align();
        assert_eq!(bits.consumed(), bytes.len());
    }
}
