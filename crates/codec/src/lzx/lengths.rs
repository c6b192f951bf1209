//! Stores the lengths of codewords as changes, in a separate code.
//!
//! **Invariant:** runs of zeros and of equal lengths take one symbol, where the format has one.

use super::PRETREE_SYMBOLS;
use crate::prefix_code::{Codewords, LengthBuilder, WordWriter};

/// The longest codeword of the code of lengths in bits.
const MAX_LEN: usize = 15;

/// The symbols of one list of lengths: each with what follows it, and how many bits that has.
#[derive(Debug, Default)]
pub(super) struct Pretree {
    symbols: Vec<(u8, u8, u8)>,
}

/// Writes lengths as changes of the old ones.
pub(super) fn put_lengths(
    pretree: &mut Pretree,
    (builder, writer): (&mut LengthBuilder, &mut WordWriter<0>),
    lengths: &[u8],
    old: &[u8],
) {
    pretree.collect(lengths, old);
    let mut counts = [0; PRETREE_SYMBOLS];
    for (symbol, ..) in &pretree.symbols {
        if let Some(count) = counts.get_mut(usize::from(*symbol)) {
            *count += 1;
        }
    }
    let code = Codewords::of(builder, &counts, MAX_LEN);
    for len in &code.lengths {
        writer.put((*len).into(), 4);
    }
    for (symbol, value, bits) in &pretree.symbols {
        code.put((*symbol).into(), writer);
        writer.put((*value).into(), (*bits).into());
    }
}

impl Pretree {
    fn collect(&mut self, lengths: &[u8], old: &[u8]) {
        self.symbols.clear();
        let mut rest = lengths.iter().zip(old).peekable();
        while let Some((&len, &old)) = rest.next() {
            let mut run = 1;
            // zeros in up to 51, others in 4 or 5
            let most = if len == 0 { 51 } else { 5 };
            let mut ahead = rest.clone();
            while run < most && ahead.next().is_some_and(|(next, _)| *next == len) {
                run += 1;
            }
            let change = (17 + old - len) % 17;
            let used = match (len, run) {
                (0, 20..) => {
                    self.symbols.push((18, run - 20, 5));
                    run
                }
                (0, 4..) => {
                    self.symbols.push((17, run - 4, 4));
                    run
                }
                (1.., 4..) => {
                    self.symbols.push((19, run - 4, 1));
                    self.symbols.push((change, 0, 0));
                    run
                }
                _ => {
                    self.symbols.push((change, 0, 0));
                    1
                }
            };
            for _ in 1..used {
                rest.next();
            }
        }
    }
}
