//! Reads bits from 16-bit little-endian words, from either end of a stream.
//!
//! In: bytes. Out: numbers of up to 32 bits.
//!
//! **Invariant:** past the end of the stream all bits are zero, and the reader counts the words
//! that are missing, so that a decoder can find at any time that the stream was too short.

use sinterfs_model::{Error, Result};

/// A reader of bits. `BACKWARD` readers take words from the end of the stream.
#[derive(Debug)]
pub(crate) struct WordReader<'a, const BACKWARD: bool> {
    rest: &'a [u8],
    /// The next bits, the first one in the most significant position.
    bits: u64,
    /// The number of bits in `bits`.
    count: u32,
    /// Bits in `bits` that the stream does not have.
    missing: u32,
}

impl<'a, const BACKWARD: bool> WordReader<'a, BACKWARD> {
    /// Makes a reader of a stream.
    pub(crate) fn new(stream: &'a [u8]) -> Self {
        Self {
            rest: stream,
            bits: 0,
            count: 0,
            missing: 0,
        }
    }

    /// Takes words until there are at least `count` bits, at most 48.
    #[inline]
    pub(crate) fn ensure(&mut self, count: u32) {
        while self.count < count {
            let word = if BACKWARD {
                self.rest
                    .split_last_chunk::<2>()
                    .map(|(rest, word)| (word, rest))
            } else {
                self.rest.split_first_chunk::<2>()
            };
            let word = match word {
                Some((word, rest)) => {
                    self.rest = rest;
                    u16::from_le_bytes(*word)
                }
                None => {
                    self.missing = self.missing.saturating_add(16);
                    0
                }
            };
            self.bits |= u64::from(word) << (48 - self.count);
            self.count += 16;
        }
    }

    /// Returns the next `count` bits, from 1 to 32, of those that [`Self::ensure`] took.
    #[inline]
    pub(crate) fn peek(&self, count: u32) -> u32 {
        let [a, b, c, d, ..] = self.bits.to_be_bytes();
        u32::from_be_bytes([a, b, c, d]) >> (32 - count)
    }

    /// Skips bits that [`Self::ensure`] took.
    #[inline]
    pub(crate) fn skip(&mut self, count: u32) {
        self.bits <<= count;
        self.count -= count;
    }

    /// Returns the next `count` bits, at most 32.
    #[inline]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        if count == 0 {
            return 0;
        }
        self.ensure(count);
        let bits = self.peek(count);
        self.skip(count);
        bits
    }

    /// Fails with `Corrupt` if more bits were used than there are.
    #[inline]
    pub(crate) fn finish(&self) -> Result<()> {
        if self.missing > self.count {
            return Err(ends_early());
        }
        Ok(())
    }
}

impl<'a> WordReader<'a, false> {
    /// Returns the next bytes of the stream after the words that were taken.
    #[inline]
    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// Skips to the next word, past a whole word if there is no begun one, and returns the bytes
    /// from there on. The reader continues with what [`Self::resume`] is given.
    pub(crate) fn stop_at_word(&mut self, stream: &'a [u8]) -> Result<&'a [u8]> {
        let begun = self.count % 16;
        self.take(if begun == 0 { 16 } else { begun });
        self.finish()?;
        let unused = (self.count.saturating_sub(self.missing) / 8) as usize;
        let at = stream.len() - self.rest.len() - unused;
        Ok(stream.get(at..).unwrap_or_default())
    }

    /// Continues with other bytes.
    pub(crate) fn resume(&mut self, rest: &'a [u8]) {
        *self = Self::new(rest);
    }
}

#[cold]
fn ends_early() -> Error {
    Error::corrupt("the stream ends too early")
}
