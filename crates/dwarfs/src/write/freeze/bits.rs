//! A zeroed buffer, written at bit positions.
//!
//! **Invariant:** bits count from the lowest of the first byte; every bit is written at most once.

#![expect(
    clippy::indexing_slicing,
    reason = "the plan computes the buffer's length from the same positions"
)]

/// A buffer of bits.
#[derive(Debug)]
pub(super) struct BitBuffer {
    bytes: Vec<u8>,
}

impl BitBuffer {
    /// Makes a buffer of `len` zero bytes.
    pub(super) fn new(len: usize) -> Self {
        Self {
            bytes: vec![0; len],
        }
    }

    /// Writes a value of at most `width` bits at a bit position.
    ///
    /// Values of up to 57 bits are merged by one load and store of 8 bytes, which the padding at
    /// the end of the buffer makes possible everywhere.
    pub(super) fn put(&mut self, bit: u64, width: u32, value: u64) {
        debug_assert!(width == 64 || value >> width == 0);
        let shift = bit % 8;
        let start = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        if u64::from(width) + shift <= 64 {
            self.merge(start, value << shift);
        } else {
            self.merge(start, value << shift);
            self.bytes[start + 8] |= u8::try_from(value >> (64 - shift)).unwrap_or_default();
        }
    }

    fn merge(&mut self, start: usize, value: u64) {
        let place = &mut self.bytes[start..start + 8];
        for (byte, new) in place.iter_mut().zip(value.to_le_bytes()) {
            *byte |= new;
        }
    }

    /// Writes bytes at a byte position.
    pub(super) fn copy(&mut self, at: u64, bytes: &[u8]) {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Returns the bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}
