//! Encodes LZX.
//!
//! **Invariant:** a stream consists of blocks with separate codes, whose lengths are stored as
//! changes of those of the block before.

use super::items::{LzxCoder, split_len};
use super::lengths::{Pretree, put_lengths};
use super::split::{BlockCounts, LzxPart, split};
use super::{
    ALIGNED_SYMBOLS, LENGTH_SYMBOLS, LzxWindow, SHORT_LENGTHS, USUAL_BLOCK, calls, number_slot,
    slot_base,
};
use crate::chunk_parser::{
    ChunkMatches, Effort, Item, Parser, PriceTables, Recent, UNIT, prices, survey,
};
use crate::prefix_code::{Codewords, LengthBuilder, WordWriter};

/// The longest codeword in bits.
const MAX_LEN: usize = 16;

/// The longest codeword of the low bits of distances.
const MAX_ALIGNED_LEN: usize = 7;

/// The bytes that are split into blocks at a time.
const PART: usize = 1 << 16;

/// Encodes chunks; keeps its memory between them.
#[derive(Debug, Default)]
pub struct LzxEncoder {
    content: Vec<u8>,
    matches: ChunkMatches,
    surveyed: Vec<Item>,
    parts: Vec<LzxPart>,
    blocks: LzxBlocks,
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
        self.matches.find::<LzxCoder>(&self.content, effort);
        let mut stream = Stream {
            window,
            writer: WordWriter::after(Vec::new()),
            before: BlockCodes::none(window),
            recent: Recent::START,
        };
        let mut at = 0;
        while at < self.content.len() {
            let range = at..(at + PART).min(self.content.len());
            let items = &mut self.surveyed;
            survey::<LzxCoder>(&self.content, range, &self.matches, stream.recent, items);
            split(items, &mut self.parts);
            let mut rest = &items[..];
            for part in &mut self.parts {
                let (surveyed, after) = rest.split_at(part.items);
                rest = after;
                let block = LzxBlock {
                    content: &self.content,
                    matches: &self.matches,
                    effort,
                    start: at,
                    len: part.len,
                    surveyed,
                };
                self.blocks.encode(&block, &mut part.counts, &mut stream);
                at += part.len;
            }
        }
        Some(stream.writer.finish())
    }
}

fn effort(level: u8) -> Effort {
    let (depth, nice, noted, passes) = match level {
        0..=1 => (4, 24, 8, 0),
        2 => (4, 24, 8, 1),
        3..=4 => (6, 32, 16, 1),
        5 => (8, 32, 16, 1),
        6 => (10, 40, 16, 1),
        7 => (32, 64, 64, 2),
        _ => (160, 257, 257, 4),
    };
    Effort {
        depth,
        nice,
        noted,
        passes,
    }
}

/// A stream while it is written.
struct Stream {
    window: LzxWindow,
    writer: WordWriter<0>,
    /// The codes of the block before.
    before: BlockCodes,
    recent: Recent,
}

/// What a block is made of.
struct LzxBlock<'a> {
    /// The whole chunk.
    content: &'a [u8],
    matches: &'a ChunkMatches,
    effort: Effort,
    start: usize,
    len: usize,
    /// The items of the quick look.
    surveyed: &'a [Item],
}

/// Encodes blocks; keeps its memory between them.
#[derive(Debug, Default)]
struct LzxBlocks {
    parser: Parser,
    costs: LzxCosts,
    builder: LengthBuilder,
    pretree: Pretree,
}

impl LzxBlocks {
    /// Writes a block; `counts` come from the quick parse, and then from the written items.
    fn encode(&mut self, block: &LzxBlock<'_>, counts: &mut BlockCounts, stream: &mut Stream) {
        let mut items = block.surveyed;
        for pass in 0..block.effort.passes {
            self.costs
                .take(counts, stream.window, block.effort.nice, pass > 0);
            items = self.parser.parse::<LzxCoder>(
                block.content,
                block.start..block.start + block.len,
                stream.recent,
                (block.matches, block.effort),
                &self.costs.tables,
            );
            *counts = BlockCounts::NONE;
            counts.add(items);
        }
        for item in items {
            stream.recent = stream.recent.after::<LzxCoder>(*item);
        }
        let (window, writer) = (stream.window, &mut stream.writer);
        let builder = &mut self.builder;
        let main = &counts.main[..window.main_symbols()];
        let codes = BlockCodes {
            main: Codewords::of(builder, main, MAX_LEN),
            length: Codewords::of(builder, &counts.length, MAX_LEN),
        };
        let aligned = aligned_code(builder, &counts.aligned);
        head(window, block.len, aligned.as_ref(), writer);
        let (literals, matches) = codes.main.lengths.split_at(256);
        let (old_literals, old_matches) = stream.before.main.lengths.split_at(256);
        for (lengths, old) in [
            (literals, old_literals),
            (matches, old_matches),
            (&codes.length.lengths, &stream.before.length.lengths),
        ] {
            put_lengths(&mut self.pretree, (&mut self.builder, writer), lengths, old);
        }
        for item in items {
            put_item(*item, &codes, aligned.as_ref(), writer);
        }
        stream.before = codes;
    }
}

/// Returns the code for the low bits of distances, if it saves something.
fn aligned_code(builder: &mut LengthBuilder, counts: &[u32; ALIGNED_SYMBOLS]) -> Option<Codewords> {
    let code = Codewords::of(builder, counts, MAX_ALIGNED_LEN);
    let total: u32 = counts.iter().sum();
    let stored = counts.iter().zip(&code.lengths);
    let bits: u32 = stored.map(|(count, len)| count * u32::from(*len)).sum();
    // what the lengths of the code take, and three bits of each distance otherwise
    (bits + 24 < total * 3).then_some(code)
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
    item: Item,
    codes: &BlockCodes,
    aligned: Option<&Codewords>,
    writer: &mut WordWriter<0>,
) {
    let number = item.number::<LzxCoder>();
    if item.is_literal::<LzxCoder>() {
        codes.main.put(number as usize, writer);
        return;
    }
    let (short, rest) = split_len(item.len::<LzxCoder>());
    let slot = number_slot(number);
    codes.main.put(256 + slot * SHORT_LENGTHS + short, writer);
    if let Some(rest) = rest {
        codes.length.put(rest, writer);
    }
    let (bits, base) = slot_base(slot);
    let low = number - base;
    match aligned {
        Some(aligned) if bits >= 3 => {
            writer.put(low >> 3, bits - 3);
            aligned.put((low & 7) as usize, writer);
        }
        _ => writer.put(low, bits),
    }
}

/// The codes of a block whose lengths the next one changes.
struct BlockCodes {
    main: Codewords,
    length: Codewords,
}

impl BlockCodes {
    fn none(window: LzxWindow) -> Self {
        let none = |symbols| Codewords::with_lengths(vec![0; symbols]);
        Self {
            main: none(window.main_symbols()),
            length: none(LENGTH_SYMBOLS),
        }
    }
}

#[derive(Debug, Default)]
struct LzxCosts {
    main: Vec<u32>,
    length: Vec<u32>,
    tables: PriceTables,
}

impl LzxCosts {
    /// Takes the prices of literals, and of matches below `nice` bytes, from how often symbols
    /// occurred. The low bits of the distances of a quick look say little about those of the
    /// cheapest items.
    fn take(&mut self, counts: &BlockCounts, window: LzxWindow, nice: usize, with_low_bits: bool) {
        let counted = &counts.main[..window.main_symbols()];
        self.main.resize(counted.len(), 0);
        prices(counted, &mut self.main);
        self.length.resize(LENGTH_SYMBOLS, 0);
        prices(&counts.length, &mut self.length);
        let mut low = [3 * UNIT; ALIGNED_SYMBOLS];
        if with_low_bits {
            prices(&counts.aligned, &mut low);
        }
        self.tables.set_low(low, 3 * UNIT);
        let (literals, matches) = self.main.split_at(256);
        self.tables.set_literals::<LzxCoder>(literals);
        for (slot, of_slot) in matches.as_chunks::<SHORT_LENGTHS>().0.iter().enumerate() {
            let bits = slot_base(slot).0 * UNIT;
            let [short @ .., long] = of_slot;
            let rest = self.length.iter().map(|price| price + long);
            let of_lengths = short.iter().copied().chain(rest).take(nice);
            self.tables
                .set_slot::<LzxCoder>(slot, of_lengths.map(|price| price + bits));
        }
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_testkit::noise;

    use super::*;
    use crate::shapes::prose;

    #[test]
    fn blocks_begin_where_content_changes() {
        let window = LzxWindow::for_chunk(1 << 15).unwrap();
        let mut encoder = LzxEncoder::default();
        let mut blocks_of = |content: &[u8]| {
            encoder.encode(content, window, 6).unwrap();
            let lengths = encoder.parts.iter().map(|part| part.len);
            lengths.collect::<Vec<_>>()
        };
        assert_eq!(blocks_of(&noise(1, 1 << 15)), [1 << 15]);
        let blocks = blocks_of(&[prose(16_000, 1), noise(2, 16_000)].concat());
        assert_eq!(blocks.iter().sum::<usize>(), 32_000);
        // the last one is the match of the noise
        assert!(
            blocks.last().unwrap().abs_diff(16_000) < 1_000,
            "{blocks:?}"
        );
    }
}
