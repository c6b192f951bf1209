//! Decides where blocks begin: where other symbols become frequent.
//!
//! In: the items of a quick look at a part of a chunk. Out: how many of them each block has, and
//! how often symbols occurred in it.
//!
//! **Invariant:** the blocks cover the items.

use super::items::{LzxCoder, split_len};
use super::{ALIGNED_SYMBOLS, LENGTH_SYMBOLS, MAX_SLOTS, SHORT_LENGTHS, number_slot, slot_base};
use crate::chunk_parser::{Item, UNIT, log2};

/// The most symbols of the main code.
const MAIN_SYMBOLS: usize = 256 + MAX_SLOTS * SHORT_LENGTHS;

/// The smallest block in items, and the step in which they grow.
const STEP: usize = 512;

/// What the lengths of a block's codewords take: for a block, and for each symbol.
const BLOCK_COST: u32 = 480 * UNIT;
const SYMBOL_COST: u32 = 9 * UNIT / 2;

/// How often symbols occur.
#[derive(Debug, Clone)]
pub(super) struct BlockCounts {
    pub(super) main: [u32; MAIN_SYMBOLS],
    pub(super) length: [u32; LENGTH_SYMBOLS],
    pub(super) aligned: [u32; ALIGNED_SYMBOLS],
}

impl BlockCounts {
    pub(super) const NONE: Self = Self {
        main: [0; MAIN_SYMBOLS],
        length: [0; LENGTH_SYMBOLS],
        aligned: [0; ALIGNED_SYMBOLS],
    };

    /// Counts the symbols of items; returns their bytes.
    pub(super) fn add(&mut self, items: &[Item]) -> usize {
        let mut bytes = 0;
        for item in items {
            let (len, number) = (item.len::<LzxCoder>(), item.number::<LzxCoder>());
            bytes += len;
            if item.is_literal::<LzxCoder>() {
                self.main[number as usize] += 1;
                continue;
            }
            let (short, rest) = split_len(len);
            let slot = number_slot(number);
            self.main[256 + slot * SHORT_LENGTHS + short] += 1;
            if let Some(rest) = rest {
                self.length[rest] += 1;
            }
            if slot_base(slot).0 >= 3 {
                self.aligned[(number & 7) as usize] += 1;
            }
        }
        bytes
    }

    fn join(&mut self, other: &Self) {
        for (sum, count) in self.main.iter_mut().zip(&other.main) {
            *sum += count;
        }
        for (sum, count) in self.length.iter_mut().zip(&other.length) {
            *sum += count;
        }
        for (sum, count) in self.aligned.iter_mut().zip(&other.aligned) {
            *sum += count;
        }
    }

    /// Returns what a block with these symbols and those of another one costs.
    fn cost(&self, other: &Self) -> u32 {
        BLOCK_COST + cost(&self.main, &other.main) + cost(&self.length, &other.length)
    }
}

/// The counts whose products with their logarithms are known; most are smaller.
const FEW: usize = 256;

/// The product of each count and its logarithm.
static PRODUCTS: [u32; FEW] = {
    let mut products = [0; FEW];
    let mut count = 1;
    while count < FEW {
        products[count] = count as u32 * log2(count as u32);
        count += 1;
    }
    products
};

/// Returns the cost of symbols in the best code for them.
fn cost(counts: &[u32], others: &[u32]) -> u32 {
    let (mut total, mut known, mut used) = (0, 0, 0);
    for (count, other) in counts.iter().zip(others) {
        let count = count + other;
        total += count;
        used += u32::from(count > 0);
        known += match PRODUCTS.get(count as usize) {
            Some(product) => *product,
            None => count * log2(count),
        };
    }
    total * log2(total.max(1)) - known + used * SYMBOL_COST
}

/// A block to be.
#[derive(Debug)]
pub(super) struct LzxPart {
    pub(super) items: usize,
    /// The bytes that the items stand for.
    pub(super) len: usize,
    pub(super) counts: BlockCounts,
    cost: u32,
    /// What is saved if the next part belongs to the same block.
    gain: i64,
}

impl LzxPart {
    fn new(items: &[Item]) -> Self {
        let mut counts = BlockCounts::NONE;
        let len = counts.add(items);
        Self {
            items: items.len(),
            len,
            cost: counts.cost(&BlockCounts::NONE),
            counts,
            gain: 0,
        }
    }
}

/// Splits items into blocks: joins neighbours as long as that saves something, those that save the
/// most first.
pub(super) fn split(items: &[Item], parts: &mut Vec<LzxPart>) {
    parts.clear();
    parts.extend(items.chunks(STEP).map(LzxPart::new));
    for at in 0..parts.len() {
        measure(parts, at);
    }
    loop {
        let gains = parts.iter().zip(0..).map(|(part, at)| (part.gain, at));
        let Some((gain, at)) = gains.max().filter(|(gain, _)| *gain > 0) else {
            return;
        };
        let next = parts.remove(at + 1);
        let part = &mut parts[at];
        part.items += next.items;
        part.len += next.len;
        part.cost = (i64::from(part.cost) + i64::from(next.cost) - gain) as u32;
        part.counts.join(&next.counts);
        measure(parts, at);
        if at > 0 {
            measure(parts, at - 1);
        }
    }
}

/// Computes the bits saved by joining a part and the next one in one block.
fn measure(parts: &mut [LzxPart], at: usize) {
    let gain = match &parts[at..] {
        [part, next, ..] => {
            let joined = part.counts.cost(&next.counts);
            i64::from(part.cost) + i64::from(next.cost) - i64::from(joined)
        }
        _ => 0,
    };
    parts[at].gain = gain;
}
