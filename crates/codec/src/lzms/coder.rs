//! Symbols in, the stream of LZMS out.
//!
//! **Invariant:** decisions, codes and latest distances are at every moment what a decoder has
//! after the same symbols.

use super::adaptive::AdaptiveEncoder;
use super::range::{Decision, RangeEncoder};
use super::recent::Recent;
use super::slots::{self, Slot, SlotTable};
use super::{REPEATS, codes, states};
use crate::parse_window::{CoderState, Symbol};
use crate::prefix_code::WordWriter;

/// Where the bytes of a symbol come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SymbolSource {
    Literal,
    /// One of the latest distances.
    Repeat(usize),
    /// One of the latest deltas.
    DeltaRepeat(usize),
    /// Bytes at a distance.
    Distance(u32),
    /// A difference that continues.
    Delta(Delta),
}

/// The power and the distance of a delta in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delta(u32);

impl Delta {
    /// Powers are below this.
    pub(super) const POWERS: u32 = 4;

    const DISTANCE_BITS: u32 = 26;

    /// Makes a delta of a power below [`Self::POWERS`] and a distance below 2^26.
    pub(super) const fn new(power: u32, distance: u32) -> Self {
        Self(power << Self::DISTANCE_BITS | distance)
    }

    pub(super) fn power(self) -> u32 {
        self.0 >> Self::DISTANCE_BITS
    }

    pub(super) fn distance(self) -> u32 {
        self.0 & ((1 << Self::DISTANCE_BITS) - 1)
    }
}

impl SymbolSource {
    /// The first words of each kind; those of deltas are up to [`Symbol::LITERAL`].
    const DELTA_REPEATS: u32 = 4;
    const DISTANCES: u32 = 8;
    const DELTAS: u32 = 1 << 31;

    /// Returns the source of a symbol as a word.
    #[inline]
    pub(super) fn word(self) -> u32 {
        let index = |index: usize| u32::try_from(index).unwrap_or(0);
        match self {
            Self::Literal => Symbol::LITERAL,
            Self::Repeat(of) => index(of),
            Self::DeltaRepeat(of) => Self::DELTA_REPEATS + index(of),
            Self::Distance(distance) => Self::DISTANCES + distance,
            Self::Delta(Delta(word)) => Self::DELTAS + word,
        }
    }

    /// Returns the symbol that a word stands for.
    #[inline]
    pub(super) fn from_word(word: u32) -> Self {
        match word {
            Symbol::LITERAL => Self::Literal,
            0..Self::DELTA_REPEATS => Self::Repeat(word as usize),
            Self::DELTA_REPEATS..Self::DISTANCES => {
                Self::DeltaRepeat((word - Self::DELTA_REPEATS) as usize)
            }
            Self::DISTANCES..Self::DELTAS => Self::Distance(word - Self::DISTANCES),
            Self::DELTAS.. => Self::Delta(Delta(word - Self::DELTAS)),
        }
    }
}

/// The states of all decisions, and the latest distances and deltas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knowledge {
    pub(super) is_match: u8,
    pub(super) is_delta: u8,
    pub(super) is_repeat: u8,
    pub(super) is_older: [u8; REPEATS - 1],
    pub(super) is_delta_repeat: u8,
    pub(super) is_older_delta: [u8; REPEATS - 1],
    pub(super) recent: Recent<u32>,
    pub(super) recent_deltas: Recent<Delta>,
}

impl Knowledge {
    #[inline]
    fn chosen(states: &mut [u8; REPEATS - 1], index: usize) {
        for (at, state) in states.iter_mut().enumerate().take(index + 1) {
            *state = Decision::<{ states::REPEAT }>::next(*state, at < index);
        }
    }
}

impl CoderState for Knowledge {
    const START: Self = Self {
        is_match: 0,
        is_delta: 0,
        is_repeat: 0,
        is_older: [0; 2],
        is_delta_repeat: 0,
        is_older_delta: [0; 2],
        recent: Recent::new([1, 2, 3, 4]),
        recent_deltas: Recent::new([
            Delta::new(0, 1),
            Delta::new(0, 2),
            Delta::new(0, 3),
            Delta::new(0, 4),
        ]),
    };

    #[inline]
    fn after(mut self, source: u32, _: usize) -> Self {
        let source = SymbolSource::from_word(source);
        let is_match = source != SymbolSource::Literal;
        self.is_match = Decision::<{ states::MAIN }>::next(self.is_match, is_match);
        let is_delta = matches!(
            source,
            SymbolSource::Delta(_) | SymbolSource::DeltaRepeat(_)
        );
        if is_match {
            self.is_delta = Decision::<{ states::MATCH }>::next(self.is_delta, is_delta);
        }
        let next = Decision::<{ states::REPEAT }>::next;
        match source {
            SymbolSource::Literal => {}
            SymbolSource::Repeat(index) => {
                self.is_repeat = next(self.is_repeat, true);
                Self::chosen(&mut self.is_older, index);
                self.recent.repeat(index);
            }
            SymbolSource::Distance(distance) => {
                self.is_repeat = next(self.is_repeat, false);
                self.recent.push(distance);
            }
            SymbolSource::DeltaRepeat(index) => {
                self.is_delta_repeat = next(self.is_delta_repeat, true);
                Self::chosen(&mut self.is_older_delta, index);
                self.recent_deltas.repeat(index);
            }
            SymbolSource::Delta(delta) => {
                self.is_delta_repeat = next(self.is_delta_repeat, false);
                self.recent_deltas.push(delta);
            }
        }
        if !is_match || is_delta {
            self.recent.pass();
        }
        if !is_delta {
            self.recent_deltas.pass();
        }
        self
    }
}

/// The encoder's half of the codec: all that a decoder mirrors, and the stream.
#[derive(Debug)]
pub(super) struct Coder {
    range: RangeEncoder,
    writer: WordWriter<0>,
    slots: &'static SlotTable,
    pub(super) knowledge: Knowledge,
    pub(super) is_match: Decision<{ states::MAIN }>,
    pub(super) is_delta: Decision<{ states::MATCH }>,
    pub(super) is_repeat: Decision<{ states::REPEAT }>,
    pub(super) is_older: [Decision<{ states::REPEAT }>; REPEATS - 1],
    pub(super) is_delta_repeat: Decision<{ states::REPEAT }>,
    pub(super) is_older_delta: [Decision<{ states::REPEAT }>; REPEATS - 1],
    pub(super) literals: AdaptiveEncoder,
    pub(super) lengths: AdaptiveEncoder,
    pub(super) distances: AdaptiveEncoder,
    pub(super) delta_distances: AdaptiveEncoder,
    pub(super) powers: AdaptiveEncoder,
}

impl Coder {
    /// Makes a coder of `len` bytes.
    pub(super) fn new(len: usize) -> Self {
        let distances = (slots::used_distances(len), codes::DISTANCES_ADAPT);
        Self {
            range: RangeEncoder::new(),
            writer: WordWriter::after(Vec::new()),
            slots: SlotTable::shared(),
            knowledge: Knowledge::START,
            is_match: Decision::default(),
            is_delta: Decision::default(),
            is_repeat: Decision::default(),
            is_older: Default::default(),
            is_delta_repeat: Decision::default(),
            is_older_delta: Default::default(),
            literals: AdaptiveEncoder::new(codes::LITERALS),
            lengths: AdaptiveEncoder::new(codes::LENGTHS),
            distances: AdaptiveEncoder::new(distances),
            delta_distances: AdaptiveEncoder::new(distances),
            powers: AdaptiveEncoder::new(codes::POWERS),
        }
    }

    /// Returns the slot of a distance.
    #[inline]
    pub(super) fn slot(&self, distance: u32) -> usize {
        self.slots.of(distance)
    }

    /// Encodes a symbol; `byte` is the byte of a literal.
    #[inline]
    pub(super) fn encode(&mut self, symbol: Symbol, byte: u8) {
        let source = SymbolSource::from_word(symbol.source);
        self.knowledge = self.knowledge.after(symbol.source, symbol.length as usize);
        if source == SymbolSource::Literal {
            self.range.decide(&mut self.is_match, false);
            self.literals.encode(byte.into(), &mut self.writer);
            return;
        }
        self.range.decide(&mut self.is_match, true);
        let is_delta = matches!(
            source,
            SymbolSource::Delta(_) | SymbolSource::DeltaRepeat(_)
        );
        self.range.decide(&mut self.is_delta, is_delta);
        match source {
            SymbolSource::Literal => {}
            SymbolSource::Repeat(index) => {
                self.range.decide(&mut self.is_repeat, true);
                older(&mut self.range, &mut self.is_older, index);
            }
            SymbolSource::Distance(distance) => {
                self.range.decide(&mut self.is_repeat, false);
                let slot = self.slots.of(distance);
                self.distances.encode(slot, &mut self.writer);
                rest(slots::of_distances(), slot, distance, &mut self.writer);
            }
            SymbolSource::DeltaRepeat(index) => {
                self.range.decide(&mut self.is_delta_repeat, true);
                older(&mut self.range, &mut self.is_older_delta, index);
            }
            SymbolSource::Delta(delta) => {
                self.range.decide(&mut self.is_delta_repeat, false);
                let power = delta.power() as usize;
                self.powers.encode(power, &mut self.writer);
                let slot = self.slots.of(delta.distance());
                self.delta_distances.encode(slot, &mut self.writer);
                let slots = slots::of_distances();
                rest(slots, slot, delta.distance(), &mut self.writer);
            }
        }
        let slot = slots::find(slots::of_lengths(), symbol.length);
        self.lengths.encode(slot, &mut self.writer);
        rest(slots::of_lengths(), slot, symbol.length, &mut self.writer);
    }

    /// Returns the stream.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut stream = self.range.finish();
        let codes = self.writer.finish();
        let (words, _) = codes.as_chunks::<2>();
        stream.extend(words.iter().rev().flatten());
        stream
    }
}

/// Encodes the index of a repeated value.
fn older(
    range: &mut RangeEncoder,
    decisions: &mut [Decision<{ states::REPEAT }>; REPEATS - 1],
    index: usize,
) {
    for (at, decision) in decisions.iter_mut().enumerate().take(index + 1) {
        range.decide(decision, at < index);
    }
}

/// Writes the bits of a number after its slot.
#[inline]
fn rest(slots: &[Slot], slot: usize, number: u32, writer: &mut WordWriter<0>) {
    if let Some(slot) = slots.get(slot) {
        writer.put(number - slot.base, slot.bits);
    }
}
