//! What symbols would cost by the present model, in fractions of a bit.
//!
//! In: the model. Out: prices; those of lengths and distances from tables that are worked out now
//! and then, since they move slowly.
//!
//! **Invariant:** prices only steer the parser: a stale one costs bytes, never correctness. They
//! are integers, so that every machine chooses alike.

use super::model::{
    ALIGN_BITS, FIRST_DIRECT_SLOT, FIRST_SPLIT_SLOT, LENGTH_CLASSES, LengthModel, LiteralModel,
    MAX_MATCH, MIN_MATCH, MODELLED_DISTANCES, Model, State, slot,
};
use super::range::PROBABILITY_BITS;

/// Parts of a bit, as a power of two.
pub(in super::super) const FRACTION: u32 = 6;

/// Probabilities are looked up without their lowest bits.
const DROPPED: u32 = 3;

/// The price of a bit whose probability is near the middle of each step.
static BIT: [u16; 1 << (PROBABILITY_BITS - DROPPED)] = bit_prices();

/// Works out -log2(p) by squaring: each squaring doubles the logarithm and yields one more digit.
const fn bit_prices() -> [u16; 1 << (PROBABILITY_BITS - DROPPED)] {
    let mut prices = [0; 1 << (PROBABILITY_BITS - DROPPED)];
    let mut index = 0;
    while index < prices.len() {
        // the middle of the step, as a fraction of 1 << 32
        let middle =
            (((index as u64) << DROPPED) + (1 << (DROPPED - 1))) << (32 - PROBABILITY_BITS);
        let mut mantissa = middle;
        let mut price = 0u32;
        while mantissa < 1 << 31 {
            mantissa <<= 1;
            price += 1;
        }
        // mantissa / 2^32 is in 1/2..1: its negative logarithm is in 0..=1
        let mut digit = 0;
        while digit < FRACTION {
            mantissa = (mantissa * mantissa) >> 32;
            price <<= 1;
            if mantissa < 1 << 31 {
                mantissa <<= 1;
                price += 1;
            }
            digit += 1;
        }
        prices[index] = price as u16;
        index += 1;
    }
    prices
}

/// Returns the price of a bit (0 or 1).
#[inline(always)]
pub(in super::super) fn bit(probability: u16, bit: u32) -> u32 {
    let certain = (1u32 << PROBABILITY_BITS) - 1;
    let index = u32::from(probability) ^ (certain & 0u32.wrapping_sub(bit));
    u32::from(BIT[(index >> DROPPED) as usize & (BIT.len() - 1)])
}

/// Returns the price of a byte by its coder.
#[inline]
pub(super) fn literal(probabilities: &LiteralModel, byte: u8) -> u32 {
    let symbol = u32::from(byte) | 0x100;
    let mut price = 0u32;
    for index in 0..8 {
        let node = (symbol >> (index + 1)) as usize & 1023;
        price = price.wrapping_add(bit(probabilities[node], (symbol >> index) & 1));
    }
    price
}

/// Returns the price of a byte by its coder beside the byte that a match would give.
#[inline]
pub(super) fn literal_beside(probabilities: &LiteralModel, byte: u8, beside: u8) -> u32 {
    let symbol = u32::from(byte) | 0x100;
    let mut agree = 0x100;
    let mut other = u32::from(beside);
    let mut price = 0u32;
    for index in (0..8).rev() {
        other <<= 1;
        let node = agree + (other & agree) + (symbol >> (index + 1));
        let value = (symbol >> index) & 1;
        price = price.wrapping_add(bit(probabilities[node as usize & 1023], value));
        agree &= !(other ^ (value << 8));
    }
    price
}

/// Computes the prices of all `SIZE` values in a tree, each added to `price`.
fn tree<const SIZE: usize>(tree: &[u16; SIZE], price: u32, prices: &mut [u32]) {
    // each level of the tree after the one above it, from the last node on: none is needed twice
    prices[0] = price;
    let mut width = 1;
    while width < SIZE {
        for index in (0..width).rev() {
            let (above, probability) = (prices[index], tree[width + index]);
            prices[2 * index + 1] = above + bit(probability, 1);
            prices[2 * index] = above + bit(probability, 0);
        }
        width *= 2;
    }
}

fn reverse_tree<const SIZE: usize>(tree: &[u16; SIZE], bits: u32, value: u32) -> u32 {
    let mut node = 1usize;
    let mut price = 0;
    for index in 0..bits {
        let value = (value >> index) & 1;
        price += bit(tree[node & (SIZE - 1)], value);
        node = node << 1 | value as usize;
    }
    price
}

/// The prices of one length model's lengths by position, the length less 2 as index.
#[derive(Debug, Clone)]
pub(super) struct LengthPrices([[u32; MAX_LENGTHS]; 16]);

/// Lengths less 2 are below this power of two.
const MAX_LENGTHS: usize = 512;

impl LengthPrices {
    fn refresh(&mut self, model: &LengthModel, places: usize) {
        let [choice, second] = model.choice;
        let (low, not_low) = (bit(choice, 0), bit(choice, 1));
        let middle = not_low + bit(second, 0);
        let high = not_low + bit(second, 1);
        let last = MAX_MATCH - MIN_MATCH;
        for place in 0..places.min(16) {
            let prices = &mut self.0[place];
            tree(&model.low[place], low, &mut prices[..8]);
            tree(&model.middle[place], middle, &mut prices[8..16]);
        }
        tree(&model.high, high, &mut self.0[0][16..=last]);
        let (first, others) = self.0.split_at_mut(1);
        for prices in &mut others[..places.min(16) - 1] {
            prices[16..=last].copy_from_slice(&first[0][16..=last]);
        }
    }

    /// Returns the prices at a position, by length less 2.
    #[inline(always)]
    pub(super) fn at(&self, place: usize) -> &[u32; MAX_LENGTHS] {
        &self.0[place & 15]
    }

    /// Returns the price of one length.
    #[inline(always)]
    pub(super) fn of(&self, place: usize, length: usize) -> u32 {
        self.at(place)[length.wrapping_sub(MIN_MATCH) & (MAX_LENGTHS - 1)]
    }
}

/// Tables of the prices that are dear to work out.
#[derive(Debug, Clone)]
pub(super) struct Prices {
    pub(super) match_length: LengthPrices,
    pub(super) rep_length: LengthPrices,
    slots: [[u32; 64]; LENGTH_CLASSES],
    near: [[u32; MODELLED_DISTANCES]; LENGTH_CLASSES],
    align: [u32; 1 << ALIGN_BITS],
}

impl Prices {
    /// Makes empty tables; they must be refreshed before use.
    pub(super) fn new() -> Self {
        let lengths = LengthPrices([[0; MAX_LENGTHS]; 16]);
        Self {
            match_length: lengths.clone(),
            rep_length: lengths,
            slots: [[0; 64]; LENGTH_CLASSES],
            near: [[0; MODELLED_DISTANCES]; LENGTH_CLASSES],
            align: [0; 1 << ALIGN_BITS],
        }
    }

    /// Computes all tables again, for this number of position states.
    pub(super) fn refresh(&mut self, model: &Model, places: usize) {
        self.match_length.refresh(&model.match_length, places);
        self.rep_length.refresh(&model.rep_length, places);
        for (value, price) in self.align.iter_mut().enumerate() {
            *price = reverse_tree(&model.align, ALIGN_BITS, value as u32);
        }
        let mut low = [0; MODELLED_DISTANCES];
        for (distance, price) in low.iter_mut().enumerate() {
            let slot = slot(distance as u32);
            if slot >= FIRST_SPLIT_SLOT {
                let special = &model.special[(slot - FIRST_SPLIT_SLOT) as usize & 15];
                *price = reverse_tree(special, (slot >> 1) - 1, distance as u32);
            }
        }
        for class in 0..LENGTH_CLASSES {
            let slots = &mut self.slots[class];
            tree(&model.slot[class], 0, slots);
            for (value, price) in (0u32..).zip(slots).skip(FIRST_DIRECT_SLOT as usize) {
                *price += ((value >> 1) - 1 - ALIGN_BITS) << FRACTION;
            }
            for (distance, &low) in low.iter().enumerate() {
                let slot = slot(distance as u32) as usize;
                self.near[class][distance] = self.slots[class][slot] + low;
            }
        }
    }

    /// Returns the price of a distance less one, for a class of lengths.
    #[inline(always)]
    pub(super) fn distance(&self, distance: u32, class: usize) -> u32 {
        let class = class & (LENGTH_CLASSES - 1);
        if (distance as usize) < MODELLED_DISTANCES {
            self.near[class][distance as usize]
        } else {
            let slot = slot(distance) as usize & 63;
            self.slots[class][slot].wrapping_add(self.align[distance as usize & 15])
        }
    }
}

/// Returns the price of naming one of the last distances, without its length.
#[inline]
pub(super) fn rep_index(model: &Model, state: State, place: usize, index: usize) -> u32 {
    let state = state.index();
    if index == 0 {
        return bit(model.is_rep0[state], 0)
            .wrapping_add(bit(model.is_rep0_long[state][place & 15], 1));
    }
    let price = bit(model.is_rep0[state], 1);
    if index == 1 {
        return price.wrapping_add(bit(model.is_rep1[state], 0));
    }
    price
        .wrapping_add(bit(model.is_rep1[state], 1))
        .wrapping_add(bit(model.is_rep2[state], u32::from(index > 2)))
}
