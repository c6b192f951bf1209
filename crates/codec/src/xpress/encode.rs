//! Encodes XPRESS.
//!
//! **Invariant:** a stream ends with the symbol for its end, which some decoders need.

use super::{MAX_CONTENT, MIN_MATCH, SYMBOLS};
use crate::chunk_parser::{
    ChunkMatches, Coder, Effort, Item, Parser, PriceTables, Recent, UNIT, prices, survey,
};
use crate::prefix_code::{Codewords, LengthBuilder, WordWriter};

/// The longest codeword in bits.
const MAX_LEN: usize = 15;

/// The symbol of the end.
const END: usize = 256;

/// Encodes blocks; keeps its memory between them.
#[derive(Debug, Default)]
pub struct XpressEncoder {
    matches: ChunkMatches,
    surveyed: Vec<Item>,
    parser: Parser,
    tables: PriceTables,
    builder: LengthBuilder,
}

impl XpressEncoder {
    /// Encodes a block of at most [`MAX_CONTENT`] bytes with a level from 1 to 9; `None` for a
    /// larger one.
    pub fn encode(&mut self, block: &[u8], level: u8) -> Option<Vec<u8>> {
        if block.len() > MAX_CONTENT {
            return None;
        }
        let effort = effort(level);
        self.matches.find::<XpressCoder>(block, effort);
        let range = 0..block.len();
        let (found, recent) = (&self.matches, Recent::START);
        survey::<XpressCoder>(block, range.clone(), found, recent, &mut self.surveyed);
        let mut items = &self.surveyed[..];
        let mut frequencies = frequencies_of(items);
        for _ in 0..effort.passes {
            set_prices(&frequencies, effort.nice, &mut self.tables);
            let found = (&self.matches, effort);
            let (parser, tables) = (&mut self.parser, &self.tables);
            items = parser.parse::<XpressCoder>(block, range.clone(), recent, found, tables);
            frequencies = frequencies_of(items);
        }
        let code = Codewords::of(&mut self.builder, &frequencies, MAX_LEN);
        let (pairs, _) = code.lengths.as_chunks::<2>();
        let head = pairs.iter().map(|[low, high]| low | (high << 4)).collect();
        let mut writer = WordWriter::<1>::after(head);
        for item in items {
            code.put(symbol(*item), &mut writer);
            if !item.is_literal::<XpressCoder>() {
                let distance = item.number::<XpressCoder>();
                let slot = distance.ilog2();
                long_length(item.len::<XpressCoder>() - MIN_MATCH, &mut writer);
                writer.put(distance - (1 << slot), slot);
            }
        }
        code.put(END, &mut writer);
        Some(writer.finish())
    }
}

fn effort(level: u8) -> Effort {
    let (depth, nice, noted, passes) = match level {
        0..=1 => (4, 24, 8, 0),
        2..=3 => (8, 32, 16, 1),
        4..=5 => (16, 48, 24, 1),
        6 => (16, 48, 24, 2),
        7 => (48, 96, 64, 2),
        _ => (256, 256, MAX_CONTENT, 4),
    };
    Effort {
        depth,
        nice,
        noted,
        passes,
    }
}

/// Returns the symbol of an item.
fn symbol(item: Item) -> usize {
    let number = item.number::<XpressCoder>();
    if item.is_literal::<XpressCoder>() {
        return number as usize;
    }
    let short = (item.len::<XpressCoder>() - MIN_MATCH).min(15);
    256 + XpressCoder::slot(number) * 16 + short
}

/// Returns how often symbols occur in a block of these items.
fn frequencies_of(items: &[Item]) -> Vec<u32> {
    let mut frequencies = vec![0; SYMBOLS];
    for item in items {
        frequencies[symbol(*item)] += 1;
    }
    frequencies[END] += 1;
    frequencies
}

/// Writes the part of a length that its symbol does not contain.
fn long_length(len: usize, writer: &mut WordWriter<1>) {
    let Some(more) = len.checked_sub(15) else {
        return;
    };
    match u8::try_from(more) {
        Ok(byte) if byte < 255 => writer.bytes(&[byte]),
        _ => {
            writer.bytes(&[255]);
            match u16::try_from(len) {
                Ok(short) => writer.bytes(&short.to_le_bytes()),
                Err(_) => {
                    writer.bytes(&[0; 2]);
                    writer.bytes(&u32::try_from(len).unwrap_or(0).to_le_bytes());
                }
            }
        }
    }
}

/// The items of XPRESS.
struct XpressCoder;

impl Coder for XpressCoder {
    const HAS_REPEATS: bool = false;
    const LEAST: usize = MIN_MATCH;
    // its number has 16 bits
    const MOST: usize = MAX_CONTENT - 1;
    const LENGTH_BITS: u32 = 16;

    #[inline(always)]
    fn slot(number: u32) -> usize {
        number.max(1).ilog2() as usize
    }
}

/// Sets the prices of items by how often symbols occurred; of matches, those below `nice` bytes.
fn set_prices(frequencies: &[u32], nice: usize, tables: &mut PriceTables) {
    let mut symbols = vec![0; SYMBOLS];
    prices(frequencies, &mut symbols);
    let (literals, matches) = symbols.split_at(256);
    tables.set_literals::<XpressCoder>(literals);
    for (slot, of_slot) in (0_u32..).zip(matches.as_chunks::<16>().0) {
        let of_lengths = (0..nice).map(|len| {
            let more = match len {
                0..=14 => 0,
                15..=269 => 8,
                _ => 24,
            };
            of_slot[len.min(15)] + (slot + more) * UNIT
        });
        tables.set_slot::<XpressCoder>(slot as usize, of_lengths);
    }
}
