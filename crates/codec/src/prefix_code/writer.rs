//! Writes bits in 16-bit little-endian words, the most significant bit first.
//!
//! In: numbers with their lengths. Out: bytes.
//!
//! **Invariant:** bytes that are written between the bits follow the words that a decoder has
//! taken by then: `AHEAD` words more than the bits fill.

/// A writer of bits. `AHEAD` is 0, or 1 for decoders that take words early ([MS-XCA] 2.2.4).
#[derive(Debug)]
pub(crate) struct WordWriter<const AHEAD: usize> {
    bytes: Vec<u8>,
    bits: u64,
    count: u32,
    /// The positions of the next words, if decoders take them early.
    slots: [usize; 2],
}

impl<const AHEAD: usize> WordWriter<AHEAD> {
    /// Makes a writer that continues after bytes.
    pub(crate) fn after(mut bytes: Vec<u8>) -> Self {
        let at = bytes.len();
        if AHEAD > 0 {
            bytes.extend([0; 4]);
        }
        Self {
            bytes,
            bits: 0,
            count: 0,
            slots: [at, at + 2],
        }
    }

    /// Writes up to 32 bits.
    #[inline]
    pub(crate) fn put(&mut self, value: u32, count: u32) {
        self.bits = (self.bits << count) | u64::from(value);
        self.count += count;
        // a decoder takes the word after a full one only when it needs it
        while self.count > if AHEAD > 0 { 16 } else { 15 } {
            self.count -= 16;
            let [.., high, low] = (self.bits >> self.count).to_be_bytes();
            self.word([low, high]);
        }
    }

    /// Writes bytes between the bits.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Fills the last word with zeros and returns all bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            let [.., high, low] = (self.bits << (16 - self.count)).to_be_bytes();
            // no word follows: some decoders take no more bytes than they need
            self.word_at_slot([low, high]);
        }
        self.bytes
    }

    fn word(&mut self, word: [u8; 2]) {
        self.word_at_slot(word);
        if AHEAD > 0 {
            let [_, second] = self.slots;
            self.slots = [second, self.bytes.len()];
            self.bytes.extend([0; 2]);
        }
    }

    fn word_at_slot(&mut self, word: [u8; 2]) {
        if AHEAD == 0 {
            self.bytes.extend(word);
            return;
        }
        let [first, _] = self.slots;
        if let Some(room) = self.bytes.get_mut(first..first + 2) {
            room.copy_from_slice(&word);
        }
    }
}
