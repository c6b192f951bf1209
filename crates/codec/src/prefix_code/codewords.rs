//! Codewords of canonical prefix codes, and the costs of symbols.

use super::lengths::LengthBuilder;
use super::writer::WordWriter;

/// The longest codeword in bits.
const MAX_LEN: usize = 16;

/// A code that is written.
#[derive(Debug, Clone)]
pub(crate) struct Codewords {
    pub(crate) lengths: Vec<u8>,
    words: Vec<u16>,
}

impl Codewords {
    /// Makes the code of these frequencies, with lengths up to `max`.
    pub(crate) fn of(builder: &mut LengthBuilder, frequencies: &[u32], max: usize) -> Self {
        let mut lengths = vec![0; frequencies.len()];
        if frequencies.iter().any(|count| *count > 0) {
            builder.build(frequencies, max, &mut lengths);
        }
        Self::with_lengths(lengths)
    }

    /// Makes the code with these lengths.
    pub(crate) fn with_lengths(lengths: Vec<u8>) -> Self {
        let mut next = [0_u32; MAX_LEN + 2];
        let mut counts = [0_u32; MAX_LEN + 1];
        for len in lengths.iter().filter(|len| **len > 0) {
            if let Some(count) = counts.get_mut(usize::from(*len)) {
                *count += 1;
            }
        }
        let mut code = 0;
        for (count, next) in counts.iter().zip(next.iter_mut().skip(1)) {
            code = (code + count) << 1;
            *next = code;
        }
        let words = lengths.iter().map(|len| {
            let next = next.get_mut(usize::from(*len)).filter(|_| *len > 0);
            let word = next.map_or(0, |next| {
                *next += 1;
                *next - 1
            });
            u16::try_from(word).unwrap_or(0)
        });
        let words = words.collect();
        Self { lengths, words }
    }

    /// Writes a symbol.
    #[inline]
    pub(crate) fn put<const AHEAD: usize>(&self, symbol: usize, writer: &mut WordWriter<AHEAD>) {
        if let (Some(word), Some(len)) = (self.words.get(symbol), self.lengths.get(symbol)) {
            writer.put((*word).into(), (*len).into());
        }
    }
}
