//! Encodes XPRESS.
//!
//! **Invariant:** a stream ends with the symbol for its end, which some decoders need.

use super::{MAX_CONTENT, MIN_MATCH, SYMBOLS};
use crate::codec::chunk_parser::{ChunkMatches, Costs, Effort, Item, Parser, UNIT, prices};
use crate::codec::prefix_code::{Codewords, LengthBuilder, WordWriter};

/// The longest codeword in bits.
const MAX_LEN: usize = 15;

/// The symbol of the end.
const END: usize = 256;

/// Encodes blocks; keeps its memory between them.
#[derive(Debug, Default)]
pub struct XpressEncoder {
    matches: ChunkMatches,
    parser: Parser,
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
        self.matches.find(block, effort, MIN_MATCH, block.len());
        let mut costs = XpressCosts {
            prices: vec![9 * UNIT; SYMBOLS],
        };
        let mut frequencies = vec![0_u32; SYMBOLS];
        let mut items: &[Item] = &[];
        for _ in 0..effort.passes {
            let range = (0, block.len());
            let found = (&self.matches, effort);
            items = self.parser.parse(block, range, [1; 3], found, &costs);
            frequencies.fill(0);
            let symbols = items.iter().map(symbol).chain([END]);
            for symbol in symbols {
                if let Some(count) = frequencies.get_mut(symbol) {
                    *count += 1;
                }
            }
            prices(&frequencies, &mut costs.prices);
        }
        let code = Codewords::of(&mut self.builder, &frequencies, MAX_LEN);
        let (pairs, _) = code.lengths.as_chunks::<2>();
        let head = pairs.iter().map(|[low, high]| low | (high << 4)).collect();
        let mut writer = WordWriter::<1>::after(head);
        for item in items {
            code.put(symbol(item), &mut writer);
            if let Item::Match {
                slot,
                len,
                distance,
            } = *item
            {
                long_length(len as usize - MIN_MATCH, &mut writer);
                writer.put(distance - (1 << slot), slot);
            }
        }
        code.put(END, &mut writer);
        Some(writer.finish())
    }
}

fn effort(level: u8) -> Effort {
    let (depth, nice, passes) = match level {
        0..=2 => (8, 32, 1),
        3..=5 => (24, 64, 2),
        6..=7 => (64, 128, 2),
        _ => (256, 256, 3),
    };
    Effort {
        depth,
        nice,
        passes,
    }
}

/// Returns the symbol of an item.
fn symbol(item: &Item) -> usize {
    match *item {
        Item::Literal(byte) => byte.into(),
        Item::Match { slot, len, .. } => {
            256 + slot as usize * 16 + (len as usize - MIN_MATCH).min(15)
        }
    }
}

/// Writes what a symbol does not say of a length.
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

struct XpressCosts {
    prices: Vec<u32>,
}

impl Costs for XpressCosts {
    const REPEATS: usize = 0;
    const LEAST: usize = MIN_MATCH;
    const MOST: usize = MAX_CONTENT;

    fn slot(&self, distance: u32) -> usize {
        distance.max(1).ilog2() as usize
    }

    #[inline]
    fn literal(&self, byte: u8) -> u32 {
        self.prices.get(usize::from(byte)).copied().unwrap_or(0)
    }

    #[inline]
    fn matched(&self, slot: usize, len: usize) -> u32 {
        let short = (len - MIN_MATCH).min(15);
        let price = self.prices.get(256 + slot * 16 + short).copied();
        let bits = match len - MIN_MATCH {
            0..=14 => slot,
            15..=269 => slot + 8,
            _ => slot + 24,
        };
        price.unwrap_or(0) + u32::try_from(bits).unwrap_or(0) * UNIT
    }
}
