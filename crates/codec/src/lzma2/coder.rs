//! Symbols in, range code out: literals, matches and repeated matches by the format's bit trees.
//!
//! **Invariant:** the model, the state and the last distances are at every moment what a decoder
//! has after the same symbols.

use super::model::{
    ALIGN_BITS, FIRST_DIRECT_SLOT, FIRST_SPLIT_SLOT, LengthModel, LiteralModel, MIN_MATCH, Model,
    Properties, Reps, State, length_class, push_rep, slot, use_rep,
};
use super::range::RangeEncoder;
use crate::parse_window::CoderState;
pub(super) use crate::parse_window::Symbol;

impl Symbol {
    /// The first source that is a distance, less one; lower ones are the index of a last distance.
    pub(super) const DISTANCE: u32 = 4;
}

impl CoderState for (State, Reps) {
    const START: Self = (State::START, [0; 4]);

    #[inline(always)]
    fn after(self, source: u32, length: usize) -> Self {
        let (state, reps) = self;
        if source == Symbol::LITERAL {
            (state.literal(), reps)
        } else if source >= Symbol::DISTANCE {
            (state.matched(), push_rep(reps, source - Symbol::DISTANCE))
        } else if length == 1 {
            (state.short_repeated(), reps)
        } else {
            (state.repeated(), use_rep(reps, source as usize))
        }
    }
}

/// The encoder's half of a codec: all that a decoder mirrors, and the range code.
#[derive(Debug, Clone)]
pub(super) struct Coder {
    pub(super) properties: Properties,
    pub(super) model: Model,
    pub(super) state: State,
    pub(super) reps: Reps,
    pub(super) range: RangeEncoder,
}

impl Coder {
    /// Makes a coder at the start of a block.
    pub(super) fn new(properties: Properties) -> Self {
        Self {
            properties,
            model: Model::new(properties),
            state: State::default(),
            reps: [0; 4],
            range: RangeEncoder::new(),
        }
    }

    /// Forgets everything but the content.
    pub(super) fn reset_state(&mut self) {
        self.model = Model::new(self.properties);
        self.state = State::default();
        self.reps = [0; 4];
    }

    /// Encodes a symbol that begins at a position of the block.
    #[inline]
    pub(super) fn encode(&mut self, block: &[u8], position: usize, symbol: Symbol) {
        let place = self.properties.position_state(position);
        let state = self.state.index();
        let is_match = &mut self.model.is_match[state][place];
        if symbol.source == Symbol::LITERAL {
            self.range.bit(is_match, 0);
            self.literal(block, position);
            return;
        }
        self.range.bit(is_match, 1);
        let is_rep = &mut self.model.is_rep[state];
        let length = symbol.length as usize;
        if symbol.source >= Symbol::DISTANCE {
            self.range.bit(is_rep, 0);
            encode_length(&mut self.range, &mut self.model.match_length, length, place);
            self.distance(symbol.source - Symbol::DISTANCE, length);
            self.state = self.state.matched();
        } else {
            self.range.bit(is_rep, 1);
            self.repeated(symbol.source, length, place);
        }
    }

    /// Encodes the byte at a position.
    #[inline]
    fn literal(&mut self, block: &[u8], position: usize) {
        let previous = block[..position].last().copied().unwrap_or(0);
        let coder = self.properties.literal_coder(position, previous);
        let probabilities = &mut self.model.literal[coder];
        let byte = u32::from(block[position]);
        if self.state.after_literal() {
            encode_plain(&mut self.range, probabilities, byte);
        } else {
            let beside = u32::from(block[position - self.reps[0] as usize - 1]);
            encode_beside(&mut self.range, probabilities, byte, beside);
        }
        self.state = self.state.literal();
    }

    /// Encodes a match of one of the last distances.
    #[inline]
    fn repeated(&mut self, index: u32, length: usize, place: usize) {
        let state = self.state.index();
        let model = &mut self.model;
        if index == 0 {
            self.range.bit(&mut model.is_rep0[state], 0);
            let long = u32::from(length > 1);
            self.range.bit(&mut model.is_rep0_long[state][place], long);
            if long == 0 {
                self.state = self.state.short_repeated();
                return;
            }
        } else {
            self.range.bit(&mut model.is_rep0[state], 1);
            self.range
                .bit(&mut model.is_rep1[state], u32::from(index > 1));
            if index > 1 {
                self.range
                    .bit(&mut model.is_rep2[state], u32::from(index > 2));
            }
        }
        encode_length(&mut self.range, &mut model.rep_length, length, place);
        self.reps = use_rep(self.reps, index as usize);
        self.state = self.state.repeated();
    }

    /// Encodes a distance less one.
    #[inline]
    fn distance(&mut self, distance: u32, length: usize) {
        let slot = slot(distance);
        let slots = &mut self.model.slot[length_class(length)];
        self.range.tree(slots, 6, slot);
        if slot >= FIRST_SPLIT_SLOT {
            let low_bits = (slot >> 1) - 1;
            if slot < FIRST_DIRECT_SLOT {
                let special = &mut self.model.special[(slot - FIRST_SPLIT_SLOT) as usize & 15];
                self.range.reverse_tree(special, low_bits, distance);
            } else {
                self.range
                    .direct(distance >> ALIGN_BITS, low_bits - ALIGN_BITS);
                let align = &mut self.model.align;
                self.range.reverse_tree(align, ALIGN_BITS, distance);
            }
        }
        self.reps = push_rep(self.reps, distance);
    }
}

#[inline]
fn encode_plain(range: &mut RangeEncoder, probabilities: &mut LiteralModel, byte: u32) {
    let symbol = byte | 0x100;
    for index in (0..8).rev() {
        let node = (symbol >> (index + 1)) as usize & 1023;
        range.bit(&mut probabilities[node], (symbol >> index) & 1);
    }
}

/// Encodes a byte by the probabilities beside another, as long as their high bits agree.
#[inline]
fn encode_beside(
    range: &mut RangeEncoder,
    probabilities: &mut LiteralModel,
    byte: u32,
    beside: u32,
) {
    let symbol = byte | 0x100;
    let mut agree = 0x100;
    let mut other = beside;
    for index in (0..8).rev() {
        other <<= 1;
        let node = agree + (other & agree) + (symbol >> (index + 1));
        let bit = (symbol >> index) & 1;
        range.bit(&mut probabilities[node as usize & 1023], bit);
        agree &= !(other ^ (bit << 8));
    }
}

#[inline]
fn encode_length(range: &mut RangeEncoder, model: &mut LengthModel, length: usize, place: usize) {
    let rest = (length - MIN_MATCH) as u32;
    if rest < 8 {
        range.bit(&mut model.choice[0], 0);
        range.tree(&mut model.low[place], 3, rest);
    } else if rest < 16 {
        range.bit(&mut model.choice[0], 1);
        range.bit(&mut model.choice[1], 0);
        range.tree(&mut model.middle[place], 3, rest - 8);
    } else {
        range.bit(&mut model.choice[0], 1);
        range.bit(&mut model.choice[1], 1);
        range.tree(&mut model.high, 8, rest - 16);
    }
}
