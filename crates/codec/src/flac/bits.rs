//! Bits of a byte string, most significant first.

use sinterfs_model::Result;

use super::checks::bad;

/// Reads bits from the front of a byte string.
#[derive(Debug)]
pub(super) struct Bits<'a> {
    rest: &'a [u8],
    len: usize,
    /// The buffered bits, highest next. The bits below the first `have` are zeros, or those that
    /// follow in the byte string.
    word: u64,
    have: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            len: bytes.len(),
            word: 0,
            have: 0,
        }
    }

    /// Buffers as many whole bytes as fit.
    fn refill(&mut self) {
        if let Some(word) = self.rest.first_chunk() {
            self.word |= u64::from_be_bytes(*word) >> self.have;
            let bytes = (63 - self.have) / 8;
            self.have += bytes * 8;
            self.rest = self.rest.get(bytes as usize..).unwrap_or_default();
            return;
        }
        while self.have <= 56
            && let Some((&byte, rest)) = self.rest.split_first()
        {
            self.word |= u64::from(byte) << (56 - self.have);
            self.have += 8;
            self.rest = rest;
        }
    }

    /// Reads a number of up to 56 bits.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> Result<u64> {
        debug_assert!(count <= 56);
        if count == 0 {
            return Ok(0);
        }
        if self.have < count {
            self.refill();
            if self.have < count {
                return Err(bad("stream ends early"));
            }
        }
        let value = self.word >> (64 - count);
        self.word <<= count;
        self.have -= count;
        Ok(value)
    }

    /// Reads a number of up to 8 bits.
    #[inline]
    pub(super) fn take_u8(&mut self, count: u32) -> Result<u8> {
        let [.., low] = self.take(count.min(8))?.to_be_bytes();
        Ok(low)
    }

    /// Reads a number of up to 56 bits in two's complement.
    #[inline]
    pub(super) fn signed(&mut self, count: u32) -> Result<i64> {
        if count == 0 {
            return Ok(0);
        }
        Ok((self.take(count)? << (64 - count)).cast_signed() >> (64 - count))
    }

    /// Reads zeros and the one after them; returns the number of zeros.
    #[inline]
    pub(super) fn zeros(&mut self) -> Result<u64> {
        let mut zeros = 0;
        loop {
            let here = self.word.leading_zeros();
            if here < self.have {
                self.word = self.word << here << 1;
                self.have -= here + 1;
                return Ok(zeros + u64::from(here));
            }
            zeros += u64::from(self.have);
            (self.word, self.have) = (0, 0);
            self.refill();
            if self.have == 0 {
                return Err(bad("stream ends early"));
            }
        }
    }

    /// Reads a Rice code with a parameter of up to 30: the number of zeros before the one, and the
    /// `parameter` bits after it.
    #[inline]
    pub(super) fn rice(&mut self, parameter: u32) -> Result<(u64, u64)> {
        if self.have < 40 {
            self.refill();
        }
        let zeros = self.word.leading_zeros();
        let len = zeros + 1 + parameter;
        if len <= self.have {
            // len is at most 63
            let low = self.word << zeros << 1 >> 1 >> (63 - parameter);
            self.word <<= len;
            self.have -= len;
            return Ok((u64::from(zeros), low));
        }
        Ok((self.zeros()?, self.take(parameter)?))
    }

    /// Skips the bits up to the next whole byte.
    pub(super) fn align(&mut self) {
        let drop = self.have % 8;
        self.word <<= drop;
        self.have -= drop;
    }

    /// Returns the number of bytes that were read, at least in part.
    pub(super) fn consumed(&self) -> usize {
        self.len - self.rest.len() - (self.have / 8) as usize
    }
}
