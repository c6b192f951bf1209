//! One LZMA code of a length that is given: as many symbols as it has room for.
//!
//! In: a slice. Out: the code, and how much of the slice it holds. **Invariant:** the code is no
//! longer than the room, and there was none for the symbol that came next.

use super::super::chunk::SYMBOL_ROOM;
use super::super::coder::Coder;
use super::{Settings, SliceEncoder};
use crate::match_finder::Slice;

impl SliceEncoder {
    /// Encodes as much of a slice, which is all of its block, as there is room for.
    pub(in super::super) fn fill(
        &mut self,
        slice: Slice<'_>,
        settings: Settings<'_>,
        room: usize,
    ) -> (usize, Vec<u8>) {
        let block = slice.block;
        let mut coder = Coder::new(settings.properties);
        self.start(slice, settings);
        let mut position = 0;
        while position < block.len() {
            if self.symbols.is_empty() {
                self.parse(slice, &coder, position, settings.effort);
            }
            let Some(symbol) = self.symbols.pop() else {
                break;
            };
            if coder.range.len_if_finished() + SYMBOL_ROOM > room {
                // there may still be room for a shorter one
                let mut after = coder.clone();
                after.encode(block, position, symbol);
                if after.range.len_if_finished() > room {
                    break;
                }
                coder = after;
            } else {
                coder.encode(block, position, symbol);
            }
            position += symbol.length as usize;
        }
        (position, coder.range.finish().to_vec())
    }
}
