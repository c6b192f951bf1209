//! One LZMA code of a length that is given: as many symbols as it has room for.
//!
//! In: a block. Out: the code, and how much of the block it holds. **Invariant:** the code is no longer than
//! the room, and there was none for the symbol that came next.

use super::super::chunk::SYMBOL_ROOM;
use super::super::coder::{Coder, Symbol};
use super::super::effort::Effort;
use super::super::model::Properties;
use super::Encoder;

impl Encoder {
    /// Encodes as much of a block as there is room for.
    pub(super) fn fill(
        &mut self,
        block: &[u8],
        effort: &Effort,
        properties: Properties,
        reach: u32,
        room: usize,
    ) -> (usize, Vec<u8>) {
        let mut coder = Coder::new(properties);
        self.finder.start(effort.depth, reach, effort.quads);
        self.optimal.start(effort);
        self.table.fill(block, effort.depth, reach as usize);
        self.finder.rebase(0);
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut position = 0;
        while position < block.len() {
            if symbols.is_empty() {
                let input = (block, block.len());
                self.parse(input, &coder, position, effort, &mut symbols);
            }
            let Some(symbol) = symbols.pop() else { break };
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
