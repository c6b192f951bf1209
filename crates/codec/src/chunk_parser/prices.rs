//! What symbols cost, by how often they occur.

use super::items::Coder;

/// A bit, in the unit of costs.
pub(crate) const UNIT: u32 = 16;

/// Sets the price of each symbol: the logarithm of its share. A symbol that did not occur costs as
/// much as one that occurred half a time.
pub(crate) fn prices(frequencies: &[u32], prices: &mut [u32]) {
    let total: u32 = frequencies.iter().sum();
    let whole = log2(2 * total.max(1));
    for (price, count) in prices.iter_mut().zip(frequencies) {
        *price = (whole - log2((2 * count).max(1))).max(UNIT / 2);
    }
}

/// Returns the logarithm of a number to the base 2, in the unit of costs, interpolated.
pub(crate) const fn log2(number: u32) -> u32 {
    let whole = number.ilog2();
    let fraction = ((number as u64) << 4 >> whole) & 15;
    whole * UNIT + fraction as u32
}

/// Lengths that the prices of a slot have room for.
pub(crate) const ROW: usize = 264;

/// The prices of items: each in the high half of a number, whose low half is the item, or what a
/// length adds to one. So the sum of a price and a way is the way with its last item, and the
/// cheaper of two ways is the smaller number.
#[derive(Debug, Default)]
pub(crate) struct PriceTables {
    /// Of each byte.
    pub(super) literals: Vec<u64>,
    /// Of each slot the lengths from 0 on.
    pub(super) matches: Vec<[u64; ROW]>,
    /// What the three lowest bits of numbers from 16 on cost, beyond what `matches` has for them.
    pub(super) low: [u64; 8],
}

impl PriceTables {
    /// Sets the prices of all bytes.
    pub(crate) fn set_literals<C: Coder>(&mut self, prices: &[u32]) {
        self.literals.clear();
        self.literals.resize(256, 0);
        let bytes = (0_u32..).zip(prices);
        for (room, (byte, price)) in self.literals.iter_mut().zip(bytes) {
            *room = joined(*price, (byte << C::LENGTH_BITS) | 1);
        }
    }

    /// Sets the prices of the lengths of a slot, from the shortest on.
    pub(crate) fn set_slot<C: Coder>(&mut self, slot: usize, prices: impl Iterator<Item = u32>) {
        if self.matches.len() <= slot {
            self.matches.resize(slot + 1, [0; ROW]);
        }
        let rooms = self.matches[slot].iter_mut().zip(0_u32..).skip(C::LEAST);
        for ((room, len), price) in rooms.zip(prices) {
            *room = joined(price, len);
        }
    }

    /// Sets what the lowest bits of numbers cost, beyond `known`.
    pub(crate) fn set_low(&mut self, prices: [u32; 8], known: u32) {
        // the difference may be negative
        self.low = prices.map(|price| joined(price, 0).wrapping_sub(joined(known, 0)));
    }
}

fn joined(price: u32, item: u32) -> u64 {
    (u64::from(price) << 32) | u64::from(item)
}
