//! The model of LZMA: the state, the last distances and the probabilities of all bits.
//!
//! **Invariant:** names and numbers are as in the LZMA format (the specification in the LZMA
//! SDK): 12 states, 4 last distances, 4 classes of lengths for distances.

use super::range::EVEN;
pub(super) use crate::parse_window::{MAX_MATCH, MIN_MATCH};

/// The number of classes of lengths, each with its own distances.
pub(super) const LENGTH_CLASSES: usize = 4;

/// Distances below this have probabilities for all of their bits.
pub(super) const MODELLED_DISTANCES: usize = 128;

/// The lowest slot that has bits below it, and the lowest whose bits are not all modelled.
pub(super) const FIRST_SPLIT_SLOT: u32 = 4;
pub(super) const FIRST_DIRECT_SLOT: u32 = 14;

/// The low bits of large distances that are modelled.
pub(super) const ALIGN_BITS: u32 = 4;

/// How many bits of position and previous byte choose probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Properties {
    pub(super) lc: u32,
    pub(super) lp: u32,
    pub(super) pb: u32,
}

impl Properties {
    /// Returns the byte that stands for them in a chunk.
    pub(super) fn byte(self) -> u8 {
        ((self.pb * 5 + self.lp) * 9 + self.lc) as u8
    }

    /// Returns which literal coder is used at a position after a byte.
    #[inline(always)]
    pub(super) fn literal_coder(self, position: usize, previous: u8) -> usize {
        let low = position & ((1 << self.lp) - 1);
        (low << self.lc) | (usize::from(previous) >> (8 - self.lc))
    }

    /// Returns the position's part in choosing probabilities.
    #[inline(always)]
    pub(super) fn position_state(self, position: usize) -> usize {
        position & ((1 << self.pb) - 1) & 15
    }
}

/// What the last symbols were: 0 to 6 after a literal, 7 to 11 after a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State(u8);

impl State {
    /// The state at the start.
    pub(super) const START: Self = Self(0);

    /// The number of states, and the size of tables by state.
    pub(super) const TABLE: usize = 16;

    /// Returns the state as an index below [`Self::TABLE`].
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        usize::from(self.0 & 15)
    }

    /// Returns whether the last symbol was a literal.
    #[inline(always)]
    pub(super) fn after_literal(self) -> bool {
        self.0 < 7
    }

    #[inline(always)]
    pub(super) fn literal(self) -> Self {
        const NEXT: [u8; 16] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 4, 5, 0, 0, 0, 0];
        Self(NEXT[self.index()])
    }

    #[inline(always)]
    pub(super) fn matched(self) -> Self {
        Self(if self.after_literal() { 7 } else { 10 })
    }

    #[inline(always)]
    pub(super) fn repeated(self) -> Self {
        Self(if self.after_literal() { 8 } else { 11 })
    }

    #[inline(always)]
    pub(super) fn short_repeated(self) -> Self {
        Self(if self.after_literal() { 9 } else { 11 })
    }
}

/// The last four distances less one, the latest first.
pub(super) type Reps = [u32; 4];

/// Puts a new distance before the others.
#[inline(always)]
pub(super) fn push_rep(reps: Reps, distance: u32) -> Reps {
    [distance, reps[0], reps[1], reps[2]]
}

/// Moves a used distance to the front.
#[inline(always)]
pub(super) fn use_rep(reps: Reps, index: usize) -> Reps {
    let [a, b, c, d] = reps;
    match index {
        0 => reps,
        1 => [b, a, c, d],
        2 => [c, a, b, d],
        _ => [d, a, b, c],
    }
}

/// The probabilities of a length.
#[derive(Debug, Clone)]
pub(super) struct LengthModel {
    pub(super) choice: [u16; 2],
    pub(super) low: [[u16; 8]; 16],
    pub(super) middle: [[u16; 8]; 16],
    pub(super) high: [u16; 256],
}

impl LengthModel {
    const NEW: Self = Self {
        choice: [EVEN; 2],
        low: [[EVEN; 8]; 16],
        middle: [[EVEN; 8]; 16],
        high: [EVEN; 256],
    };
}

/// The probabilities of one literal coder: 256 for plain literals, 512 beside the matched byte.
pub(super) type LiteralModel = [u16; 1024];

/// All probabilities.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) is_match: [[u16; 16]; State::TABLE],
    pub(super) is_rep: [u16; State::TABLE],
    pub(super) is_rep0: [u16; State::TABLE],
    pub(super) is_rep0_long: [[u16; 16]; State::TABLE],
    pub(super) is_rep1: [u16; State::TABLE],
    pub(super) is_rep2: [u16; State::TABLE],
    pub(super) slot: [[u16; 64]; LENGTH_CLASSES],
    /// The low bits of slots 4 to 13, by slot less 4.
    pub(super) special: [[u16; 32]; 16],
    pub(super) align: [u16; 16],
    pub(super) match_length: LengthModel,
    pub(super) rep_length: LengthModel,
    pub(super) literal: Vec<LiteralModel>,
}

impl Model {
    /// Makes a model that knows nothing yet.
    pub(super) fn new(properties: Properties) -> Self {
        Self {
            is_match: [[EVEN; 16]; State::TABLE],
            is_rep: [EVEN; State::TABLE],
            is_rep0: [EVEN; State::TABLE],
            is_rep0_long: [[EVEN; 16]; State::TABLE],
            is_rep1: [EVEN; State::TABLE],
            is_rep2: [EVEN; State::TABLE],
            slot: [[EVEN; 64]; LENGTH_CLASSES],
            special: [[EVEN; 32]; 16],
            align: [EVEN; 16],
            match_length: LengthModel::NEW,
            rep_length: LengthModel::NEW,
            literal: vec![[EVEN; 1024]; 1 << (properties.lc + properties.lp)],
        }
    }
}

/// Returns the slot of a distance less one: its two highest bits and their place.
#[inline(always)]
pub(super) fn slot(distance: u32) -> u32 {
    if distance < FIRST_SPLIT_SLOT {
        return distance;
    }
    let high = distance.ilog2();
    (high << 1) | ((distance >> (high - 1)) & 1)
}

/// Returns which class of lengths a length of a match is in.
#[inline(always)]
pub(super) fn length_class(length: usize) -> usize {
    (length - MIN_MATCH).min(LENGTH_CLASSES - 1)
}
