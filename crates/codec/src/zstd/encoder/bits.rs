//! Bits in, bytes out: the lowest bit of a byte first.
//!
//! **Invariant:** less than 64 bits are pending; [`BitWriter::flush`] leaves less than 8.

/// Bytes that are written at a time.
const WORD: usize = size_of::<u64>();

/// Bytes by which the output grows.
const GROWTH: usize = 1 << 12;

/// A writer of bits.
#[derive(Debug)]
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The bytes that are written; `out` may be longer until the end.
    len: usize,
    pending: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Makes a writer that appends to `out`.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            len: out.len(),
            out,
            pending: 0,
            count: 0,
        }
    }

    /// Adds the lowest `count` bits of a value. At most 63 bits fit between two flushes, less those
    /// that the last flush left.
    #[inline(always)]
    pub(super) fn add(&mut self, value: u32, count: u32) {
        let mask = (1u64 << count).wrapping_sub(1);
        self.pending |= (u64::from(value) & mask) << (self.count & 63);
        self.count = self.count.wrapping_add(count);
    }

    /// Writes the whole bytes.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        if self.len + WORD > self.out.len() {
            self.out.resize(self.len + GROWTH, 0);
        }
        if let Some(room) = self.out.get_mut(self.len..self.len + WORD) {
            room.copy_from_slice(&self.pending.to_le_bytes());
        }
        self.len += (self.count >> 3) as usize;
        self.pending = self.pending.wrapping_shr(self.count & !7);
        self.count &= 7;
    }

    /// Writes all bits, with zeros up to a whole byte.
    pub(super) fn finish(mut self) {
        self.flush();
        self.count = (self.count + 7) & !7;
        self.flush();
        self.out.truncate(self.len);
    }

    /// Ends a stream that is read backwards, from the bit of one after the last that was added.
    pub(super) fn finish_backward(mut self) {
        self.flush();
        self.add(1, 1);
        self.finish();
    }
}
