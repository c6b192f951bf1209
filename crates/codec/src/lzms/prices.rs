//! What symbols cost by the present codes and decisions, in fractions of a bit.
//!
//! **Invariant:** prices only steer the parser. They are integers, so that every machine chooses
//! alike.

use super::adaptive::AdaptiveEncoder;
use super::coder::{Coder, Delta, Knowledge};
use super::range::Decision;
use super::slots::{self, Slot};
use super::{REPEATS, states};
use crate::lzma2::price::{FRACTION, bit};
use crate::parse_window::{MAX_MATCH, MIN_MATCH};

/// Prices of all symbols of the codes.
#[derive(Debug)]
pub(super) struct Prices {
    literals: Vec<u32>,
    /// From [`MIN_MATCH`] to [`MAX_MATCH`].
    lengths: Vec<u32>,
    /// That of the length 1, which only a latest distance is worth.
    single: u32,
    distances: Vec<u32>,
    delta_distances: Vec<u32>,
    powers: Vec<u32>,
    /// How often each code was made when its prices were worked out.
    made: [u32; 5],
}

impl Prices {
    pub(super) fn new() -> Self {
        Self {
            literals: Vec::new(),
            lengths: Vec::new(),
            single: 0,
            distances: Vec::new(),
            delta_distances: Vec::new(),
            powers: Vec::new(),
            made: [0; 5],
        }
    }

    /// Forgets a content.
    pub(super) fn start(&mut self) {
        self.made = [0; 5];
    }

    /// Works out the prices of codes that changed.
    pub(super) fn refresh(&mut self, coder: &Coder) {
        let [literals, lengths, distances, delta_distances, powers] = &mut self.made;
        if changed(&coder.literals, literals) {
            set(&mut self.literals, &coder.literals, &[]);
        }
        if changed(&coder.lengths, lengths) {
            let mut by_slot = Vec::new();
            let slots = slots::of_lengths();
            set(&mut by_slot, &coder.lengths, slots);
            let numbers = (0_u32..).take(MAX_MATCH + 1).skip(MIN_MATCH);
            let prices = numbers.map(|length| price(&by_slot, slots::find(slots, length)));
            self.single = price(&by_slot, slots::find(slots, 1));
            self.lengths.clear();
            self.lengths.extend(prices);
        }
        if changed(&coder.distances, distances) {
            set(&mut self.distances, &coder.distances, slots::of_distances());
        }
        if changed(&coder.delta_distances, delta_distances) {
            let slots = slots::of_distances();
            set(&mut self.delta_distances, &coder.delta_distances, slots);
        }
        if changed(&coder.powers, powers) {
            set(&mut self.powers, &coder.powers, &[]);
        }
    }

    /// Returns the price of a byte.
    #[inline]
    pub(super) fn literal(&self, byte: u8) -> u32 {
        price(&self.literals, byte.into())
    }

    /// Returns the prices of lengths from [`MIN_MATCH`] to [`MAX_MATCH`].
    #[inline]
    pub(super) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Returns the price of a length; of the longest that has one, for longer ones.
    #[inline]
    pub(super) fn length(&self, length: usize) -> u32 {
        price(&self.lengths, length.min(MAX_MATCH) - MIN_MATCH)
    }

    /// Returns the price of the length 1.
    #[inline]
    pub(super) fn single(&self) -> u32 {
        self.single
    }

    /// Returns the price of a distance.
    #[inline]
    pub(super) fn distance(&self, coder: &Coder, distance: u32) -> u32 {
        price(&self.distances, coder.slot(distance))
    }

    /// Returns the price of a delta.
    #[inline]
    pub(super) fn delta(&self, coder: &Coder, delta: Delta) -> u32 {
        let power = price(&self.powers, delta.power() as usize);
        power + price(&self.delta_distances, coder.slot(delta.distance()))
    }
}

/// Prices of the decisions before a symbol that is no delta.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds {
    pub(super) literal: u32,
    pub(super) distance: u32,
    pub(super) repeats: [u32; REPEATS],
}

impl Kinds {
    #[inline]
    pub(super) fn new(coder: &Coder, known: &Knowledge) -> Self {
        let lz = matched(coder, known) + decision(&coder.is_delta, known.is_delta, false);
        let repeat = lz + decision(&coder.is_repeat, known.is_repeat, true);
        Self {
            literal: literal(coder, known),
            distance: lz + decision(&coder.is_repeat, known.is_repeat, false),
            repeats: older(&coder.is_older, known.is_older, repeat),
        }
    }
}

/// Prices of the decisions before a delta.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeltaKinds {
    pub(super) delta: u32,
    pub(super) repeats: [u32; REPEATS],
}

impl DeltaKinds {
    #[inline]
    pub(super) fn new(coder: &Coder, known: &Knowledge) -> Self {
        let delta = matched(coder, known) + decision(&coder.is_delta, known.is_delta, true);
        let repeat = delta + decision(&coder.is_delta_repeat, known.is_delta_repeat, true);
        Self {
            delta: delta + decision(&coder.is_delta_repeat, known.is_delta_repeat, false),
            repeats: older(&coder.is_older_delta, known.is_older_delta, repeat),
        }
    }
}

/// Returns the price of the decision for a literal.
#[inline]
pub(super) fn literal(coder: &Coder, known: &Knowledge) -> u32 {
    decision(&coder.is_match, known.is_match, false)
}

/// Returns the price of the decisions for the latest distance.
#[inline]
pub(super) fn latest(coder: &Coder, known: &Knowledge) -> u32 {
    let [first, _] = &coder.is_older;
    let [of_first, _] = known.is_older;
    matched(coder, known)
        + decision(&coder.is_delta, known.is_delta, false)
        + decision(&coder.is_repeat, known.is_repeat, true)
        + decision(first, of_first, false)
}

#[inline]
fn matched(coder: &Coder, known: &Knowledge) -> u32 {
    decision(&coder.is_match, known.is_match, true)
}

#[inline]
fn older(
    [first, second]: &[Decision<{ states::REPEAT }>; REPEATS - 1],
    [of_first, of_second]: [u8; REPEATS - 1],
    before: u32,
) -> [u32; REPEATS] {
    let later = before + decision(first, of_first, true);
    [
        before + decision(first, of_first, false),
        later + decision(second, of_second, false),
        later + decision(second, of_second, true),
    ]
}

#[inline]
fn decision<const STATES: usize>(decision: &Decision<STATES>, state: u8, is_one: bool) -> u32 {
    // 64ths become 2048ths
    let of_zero = decision.of_zero(state) << 5;
    bit(u16::try_from(of_zero).unwrap_or(0), u32::from(is_one))
}

fn changed(code: &AdaptiveEncoder, made: &mut u32) -> bool {
    std::mem::replace(made, code.made) != code.made
}

/// Sets the price of each symbol with the bits of its slot.
fn set(prices: &mut Vec<u32>, code: &AdaptiveEncoder, slots: &[Slot]) {
    let bits = slots
        .iter()
        .map(|slot| slot.bits)
        .chain(std::iter::repeat(0));
    let lengths = code.lengths().iter().zip(bits);
    prices.clear();
    prices.extend(lengths.map(|(length, bits)| (u32::from(*length) + bits) << FRACTION));
}

#[inline]
fn price(prices: &[u32], index: usize) -> u32 {
    prices.get(index).copied().unwrap_or(0)
}
