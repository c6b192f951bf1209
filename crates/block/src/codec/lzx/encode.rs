//! Encodes LZX.
//!
//! **Invariant:** a stream consists of blocks of at most `BLOCK` bytes with codes of their own,
//! whose lengths are stored as changes of those of the block before.

use super::lengths::{Pretree, put_lengths};
use super::{
    ALIGNED_SYMBOLS, LENGTH_SYMBOLS, LzxWindow, MIN_MATCH, SHORT_LENGTHS, USUAL_BLOCK, calls,
    distance_slot, slot_base,
};
use crate::codec::chunk_parser::{ChunkMatches, Costs, Effort, Item, Parser, UNIT, prices, update};
use crate::codec::prefix_code::{Codewords, LengthBuilder, WordWriter};

/// The longest codeword in bits.
const MAX_LEN: usize = 16;

/// The longest codeword of the low bits of distances.
const MAX_ALIGNED_LEN: usize = 7;

/// The longest match in bytes.
const MAX_MATCH: usize = MIN_MATCH + SHORT_LENGTHS - 1 + LENGTH_SYMBOLS - 1;

/// The most bytes of a block.
const BLOCK: usize = 1 << 16;

/// Encodes chunks; keeps its memory between them.
#[derive(Debug, Default)]
pub struct LzxEncoder {
    content: Vec<u8>,
    matches: ChunkMatches,
    parser: Parser,
    builder: LengthBuilder,
    pretree: Pretree,
}

/// How often symbols occur in a block.
struct BlockCounts {
    main: Vec<u32>,
    length: Vec<u32>,
    aligned: Vec<u32>,
}

impl LzxEncoder {
    /// Encodes a chunk with a level from 1 to 9; `None` for one that is larger than its window.
    pub fn encode(&mut self, chunk: &[u8], window: LzxWindow, level: u8) -> Option<Vec<u8>> {
        if chunk.len() > 1 << window.order {
            return None;
        }
        self.content.clear();
        self.content.extend_from_slice(chunk);
        calls::make_absolute(&mut self.content);
        let effort = effort(level);
        self.matches
            .find(&self.content, effort, MIN_MATCH, MAX_MATCH);
        let mut writer = WordWriter::<0>::after(Vec::new());
        let mut before = BlockCodes::none(window);
        let mut recent = [1; 3];
        let mut at = 0;
        while at < self.content.len() {
            let end = (at + BLOCK).min(self.content.len());
            self.block(
                window,
                (at, end),
                effort,
                (&mut before, &mut recent),
                &mut writer,
            );
            at = end;
        }
        Some(writer.finish())
    }

    fn block(
        &mut self,
        window: LzxWindow,
        range: (usize, usize),
        effort: Effort,
        (before, recent): (&mut BlockCodes, &mut [u32; 3]),
        writer: &mut WordWriter<0>,
    ) {
        let mut costs = LzxCosts::new(window);
        let mut counts = BlockCounts {
            main: vec![0; window.main_symbols()],
            length: vec![0; LENGTH_SYMBOLS],
            aligned: vec![0; ALIGNED_SYMBOLS],
        };
        let mut items: &[Item] = &[];
        for _ in 0..effort.passes {
            let found = (&self.matches, effort);
            items = self
                .parser
                .parse(&self.content, range, *recent, found, &costs);
            counts.take(items);
            costs.take(&counts);
        }
        for item in items {
            if let Item::Match { slot, distance, .. } = *item {
                update(recent, slot as usize, distance);
            }
        }
        let builder = &mut self.builder;
        let codes = BlockCodes {
            main: Codewords::of(builder, &counts.main, MAX_LEN),
            length: Codewords::of(builder, &counts.length, MAX_LEN),
        };
        let aligned = Codewords::of(builder, &counts.aligned, MAX_ALIGNED_LEN);
        let total: u32 = counts.aligned.iter().sum();
        let stored = counts.aligned.iter().zip(&aligned.lengths);
        let bits: u32 = stored.map(|(count, len)| count * u32::from(*len)).sum();
        // what the lengths of the code take, and three bits of each distance otherwise
        let aligned = (bits + 24 < total * 3).then_some(aligned);
        head(window, range.1 - range.0, aligned.as_ref(), writer);
        let (literals, matches) = codes.main.lengths.split_at(256);
        let (old_literals, old_matches) = before.main.lengths.split_at(256);
        for (lengths, old) in [
            (literals, old_literals),
            (matches, old_matches),
            (&codes.length.lengths, &before.length.lengths),
        ] {
            put_lengths(&mut self.pretree, (&mut self.builder, writer), lengths, old);
        }
        for item in items {
            put_item(item, &codes, aligned.as_ref(), writer);
        }
        *before = codes;
    }
}

fn effort(level: u8) -> Effort {
    let (depth, nice, passes) = match level {
        0..=2 => (8, 32, 1),
        3..=5 => (24, 64, 2),
        6..=7 => (48, 96, 2),
        _ => (160, 257, 3),
    };
    Effort {
        depth,
        nice,
        passes,
    }
}

/// Writes type and length of a block, and the code of the low bits of distances.
fn head(window: LzxWindow, len: usize, aligned: Option<&Codewords>, writer: &mut WordWriter<0>) {
    writer.put(if aligned.is_some() { 2 } else { 1 }, 3);
    writer.put(u32::from(len == USUAL_BLOCK), 1);
    if len != USUAL_BLOCK {
        let bits = if window.has_long_blocks() { 24 } else { 16 };
        writer.put(u32::try_from(len).unwrap_or(0), bits);
    }
    for len in aligned.iter().flat_map(|code| &code.lengths) {
        writer.put((*len).into(), 3);
    }
}

fn put_item(
    item: &Item,
    codes: &BlockCodes,
    aligned: Option<&Codewords>,
    writer: &mut WordWriter<0>,
) {
    let Item::Match {
        slot,
        len,
        distance,
    } = *item
    else {
        if let Item::Literal(byte) = item {
            codes.main.put((*byte).into(), writer);
        }
        return;
    };
    let (short, rest) = split_len(len as usize);
    codes
        .main
        .put(256 + slot as usize * SHORT_LENGTHS + short, writer);
    if let Some(rest) = rest {
        codes.length.put(rest, writer);
    }
    if slot < 3 {
        return;
    }
    let (bits, base) = slot_base(slot as usize);
    let low = distance + 2 - base;
    match aligned {
        Some(aligned) if bits >= 3 => {
            writer.put(low >> 3, bits - 3);
            aligned.put((low & 7) as usize, writer);
        }
        _ => writer.put(low, bits),
    }
}

/// Splits a length into what the main symbol has, and the symbol for the rest.
fn split_len(len: usize) -> (usize, Option<usize>) {
    let len = len - MIN_MATCH;
    match len.checked_sub(SHORT_LENGTHS - 1) {
        Some(rest) => (SHORT_LENGTHS - 1, Some(rest)),
        None => (len, None),
    }
}

/// The codes of a block whose lengths the next one changes.
struct BlockCodes {
    main: Codewords,
    length: Codewords,
}

impl BlockCodes {
    fn none(window: LzxWindow) -> Self {
        let none = |symbols| Codewords::of(&mut LengthBuilder::default(), &vec![0; symbols], 1);
        Self {
            main: none(window.main_symbols()),
            length: none(LENGTH_SYMBOLS),
        }
    }
}

impl BlockCounts {
    fn take(&mut self, items: &[Item]) {
        for counts in [&mut self.main, &mut self.length, &mut self.aligned] {
            counts.fill(0);
        }
        let count = |counts: &mut Vec<u32>, symbol: usize| {
            if let Some(count) = counts.get_mut(symbol) {
                *count += 1;
            }
        };
        for item in items {
            match *item {
                Item::Literal(byte) => count(&mut self.main, byte.into()),
                Item::Match {
                    slot,
                    len,
                    distance,
                } => {
                    let (short, rest) = split_len(len as usize);
                    count(&mut self.main, 256 + slot as usize * SHORT_LENGTHS + short);
                    if let Some(rest) = rest {
                        count(&mut self.length, rest);
                    }
                    if slot_base(slot as usize).0 >= 3 {
                        count(&mut self.aligned, ((distance + 2) & 7) as usize);
                    }
                }
            }
        }
    }
}

struct LzxCosts {
    main: Vec<u32>,
    length: Vec<u32>,
    /// Bits that follow each slot.
    bits: Vec<u32>,
}

impl LzxCosts {
    fn new(window: LzxWindow) -> Self {
        let slots = 0..window.slots();
        Self {
            main: vec![9 * UNIT; window.main_symbols()],
            length: vec![6 * UNIT; LENGTH_SYMBOLS],
            bits: slots.map(|slot| slot_base(slot).0 * UNIT).collect(),
        }
    }

    fn take(&mut self, counts: &BlockCounts) {
        prices(&counts.main, &mut self.main);
        prices(&counts.length, &mut self.length);
    }
}

impl Costs for LzxCosts {
    const REPEATS: usize = 3;
    const LEAST: usize = MIN_MATCH;
    const MOST: usize = MAX_MATCH;

    #[inline]
    fn slot(&self, distance: u32) -> usize {
        distance_slot(distance)
    }

    #[inline]
    fn literal(&self, byte: u8) -> u32 {
        self.main.get(usize::from(byte)).copied().unwrap_or(0)
    }

    #[inline]
    fn matched(&self, slot: usize, len: usize) -> u32 {
        let (short, rest) = split_len(len);
        let main = self.main.get(256 + slot * SHORT_LENGTHS + short);
        let rest = rest.and_then(|rest| self.length.get(rest));
        let parts = [main, rest, self.bits.get(slot)];
        parts.into_iter().flatten().sum()
    }
}
