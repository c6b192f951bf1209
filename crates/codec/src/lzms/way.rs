//! The optimal parser: the cheapest way through the next bytes by the present prices.
//!
//! In: the matches of each position. Out: symbols up to a position where all good ways meet.
//!
//! **Invariant:** the symbols cover the bytes from the start without a gap and are valid after what
//! the coder knows at the start.

use super::coder::{Coder, Knowledge, SymbolSource};
use super::deltas::{self, DeltaFinder, MIN_DELTA};
use super::prices::{self, DeltaKinds, Kinds, Prices};
use crate::match_finder::{Finder, Match, MatchTable, agreement};
use crate::parse_window::{ALONE, CoderState, MIN_MATCH, ParseWindow, Symbol};

/// Bytes that a new distance must give more than a repeated one, where both are long.
const REPEAT_GAIN: usize = 8;

/// What a parser looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) content: &'a [u8],
    pub(super) table: &'a MatchTable,
}

/// How hard a parser tries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// The longest match of the table.
    pub(super) depth: usize,
    /// A match of this length is taken without a further search.
    pub(super) nice: usize,
    /// Whether deltas are looked for.
    pub(super) deltas: bool,
}

/// A parser with its state between symbols.
#[derive(Debug)]
pub(super) struct Parser {
    window: ParseWindow<Knowledge>,
    prices: Prices,
    pub(super) finder: Finder<MIN_MATCH>,
    deltas: DeltaFinder,
    effort: Effort,
}

/// A node while its successors are computed.
struct Here {
    index: usize,
    position: usize,
    price: u32,
    known: Knowledge,
    kinds: Kinds,
    /// The most bytes that can follow.
    most: usize,
}

impl Parser {
    pub(super) fn new() -> Self {
        Self {
            window: ParseWindow::new(),
            prices: Prices::new(),
            finder: Finder::new(),
            deltas: DeltaFinder::new(),
            effort: Effort {
                depth: 0,
                nice: 0,
                deltas: false,
            },
        }
    }

    /// Starts on content of `len` bytes.
    pub(super) fn start(&mut self, len: usize, effort: Effort) {
        let reach = u32::try_from(len).unwrap_or(u32::MAX);
        self.finder.start(effort.depth, reach, true, 0);
        self.deltas.start();
        self.prices.start();
        self.effort = effort;
    }

    /// Finds the next symbols from a position on, the last one first.
    pub(super) fn parse(
        &mut self,
        input: Input<'_>,
        coder: &Coder,
        start: usize,
        symbols: &mut Vec<Symbol>,
    ) {
        self.prices.refresh(coder);
        self.window.start(coder.knowledge);
        let mut index = 0;
        let taken = loop {
            if index > 0 {
                self.window.settle(index);
                if self.window.is_end(index) {
                    break None;
                }
            }
            let taken = self.visit(input, coder, start, index);
            if taken.is_some() {
                break taken;
            }
            index += 1;
        };
        if let Some(symbol) = taken {
            let after = start + index + 1;
            let end = after + symbol.length as usize - 1;
            self.finder.skip(input.content, after..end);
            symbols.push(symbol);
        }
        self.window.trace(index, symbols);
    }

    /// Offers all that may follow a node; gives a symbol that is so long that it is taken at once.
    #[inline]
    fn visit(
        &mut self,
        input: Input<'_>,
        coder: &Coder,
        start: usize,
        index: usize,
    ) -> Option<Symbol> {
        let (price, known) = self.window.at(index);
        let position = start + index;
        let here = Here {
            index,
            position,
            price,
            known,
            kinds: Kinds::new(coder, &known),
            most: input.content.len() - position,
        };
        self.literal(input.content, coder, &here);
        if here.most < MIN_MATCH {
            return None;
        }
        let mut matches = [Match::default(); 4];
        let found = self
            .finder
            .find(input.content, input.table, position, here.most);
        let count = found.len().min(4);
        if let (Some(room), Some(found)) = (matches.get_mut(..count), found.get(..count)) {
            room.copy_from_slice(found);
        }
        let matches = matches.get(..count).unwrap_or_default();
        let longest = matches.last().copied().unwrap_or_default();
        let lengths = self.repeats(input.content, &here);
        let (rep, length) = (0..)
            .zip(lengths)
            .max_by_key(|(rep, length)| (*length, 2 - rep))?;
        if length >= self.effort.nice && length + REPEAT_GAIN > longest.length {
            return Some(symbol(SymbolSource::Repeat(rep), length));
        }
        if longest.length >= self.effort.nice {
            return Some(symbol(
                SymbolSource::Distance(longest.distance + 1),
                longest.length,
            ));
        }
        for (rep, length) in (0..).zip(lengths) {
            match length {
                0 => {}
                1 => self.offer_byte(&here, rep),
                _ => self.offer_repeat(input.content, coder, &here, rep, length),
            }
        }
        let mut shortest = MIN_MATCH;
        for found in matches {
            self.offer_match(input.content, coder, &here, *found, shortest);
            shortest = found.length + 1;
        }
        if self.effort.deltas {
            return self.offer_deltas(input.content, coder, &here);
        }
        None
    }

    /// Returns how long the matches of the latest distances are.
    #[inline]
    fn repeats(&self, content: &[u8], here: &Here) -> [usize; 3] {
        here.known.recent.values().map(|distance| {
            match here.position.checked_sub(distance as usize) {
                Some(earlier) if content.get(earlier) == content.get(here.position) => {
                    agreement(content, here.position, earlier, here.most)
                }
                _ => 0,
            }
        })
    }

    /// Offers a literal, and one before the latest distance.
    #[inline]
    fn literal(&mut self, content: &[u8], coder: &Coder, here: &Here) {
        let byte = content.get(here.position).copied().unwrap_or(0);
        let price = here.price + here.kinds.literal + self.prices.literal(byte);
        self.window.reach(here.index + 1);
        self.window
            .offer(here.index + 1, price, Symbol::LITERAL, 1, ALONE);
        let distance = here.known.recent.latest();
        if repeats(content, here.position + 1, distance) {
            let known = here.known.after(Symbol::LITERAL, 1);
            self.offer_again(content, coder, here, (price, known), (0, 0));
        }
    }

    /// Offers a latest distance for one byte.
    #[inline]
    fn offer_byte(&mut self, here: &Here, rep: usize) {
        let kind = here.kinds.repeats.get(rep).copied().unwrap_or(0);
        let price = here.price + kind + self.prices.single();
        let source = SymbolSource::Repeat(rep).word();
        self.window.offer(here.index + 1, price, source, 1, ALONE);
    }

    /// Offers a latest distance in all lengths.
    #[inline]
    fn offer_repeat(
        &mut self,
        content: &[u8],
        coder: &Coder,
        here: &Here,
        rep: usize,
        length: usize,
    ) {
        let kind = here.kinds.repeats.get(rep).copied().unwrap_or(0);
        let source = SymbolSource::Repeat(rep).word();
        self.offer_lengths(here, here.price + kind, source, MIN_MATCH, length);
        let price = here.price + kind + self.prices.length(length);
        let distance = here.known.recent.values().get(rep).copied();
        let distance = distance.unwrap_or(u32::MAX);
        if repeats(content, here.position + length + 1, distance) {
            self.literal_between(content, coder, here, price, (source, length));
        }
    }

    /// Offers a match in all lengths that no nearer one has.
    #[inline]
    fn offer_match(
        &mut self,
        content: &[u8],
        coder: &Coder,
        here: &Here,
        found: Match,
        shortest: usize,
    ) {
        let distance = found.distance + 1;
        let price = here.price + here.kinds.distance + self.prices.distance(coder, distance);
        let source = SymbolSource::Distance(distance).word();
        self.offer_lengths(here, price, source, shortest, found.length);
        let price = price + self.prices.length(found.length);
        if repeats(content, here.position + found.length + 1, distance) {
            self.literal_between(content, coder, here, price, (source, found.length));
        }
    }

    /// Offers the latest deltas, and one that is found; gives one that is taken at once.
    #[inline]
    fn offer_deltas(&mut self, content: &[u8], coder: &Coder, here: &Here) -> Option<Symbol> {
        let kinds = DeltaKinds::new(coder, &here.known);
        let latest = here.known.recent_deltas.values();
        for (rep, delta) in latest.into_iter().enumerate() {
            let length = deltas::length(content, here.position, delta, here.most);
            if length < MIN_MATCH {
                continue;
            }
            if length >= self.effort.nice {
                return Some(symbol(SymbolSource::DeltaRepeat(rep), length));
            }
            let kind = kinds.repeats.get(rep).copied().unwrap_or(0);
            let source = SymbolSource::DeltaRepeat(rep).word();
            self.offer_lengths(here, here.price + kind, source, MIN_MATCH, length);
        }
        let (length, delta) = self.deltas.find(content, here.position, here.most)?;
        if length >= self.effort.nice {
            return Some(symbol(SymbolSource::Delta(delta), length));
        }
        let price = here.price + kinds.delta + self.prices.delta(coder, delta);
        let source = SymbolSource::Delta(delta).word();
        self.offer_lengths(here, price, source, MIN_DELTA, length);
        None
    }

    #[inline]
    fn offer_lengths(
        &mut self,
        here: &Here,
        price: u32,
        source: u32,
        shortest: usize,
        length: usize,
    ) {
        self.window.reach(here.index + length);
        let lengths = self.prices.lengths();
        let range = shortest..length + 1;
        self.window
            .offer_lengths(here.index, lengths, range, price, source);
    }

    /// Offers a match, a literal and the same distance again.
    #[inline]
    fn literal_between(
        &mut self,
        content: &[u8],
        coder: &Coder,
        here: &Here,
        price: u32,
        (source, length): (u32, usize),
    ) {
        let position = here.position + length;
        let Some(byte) = content.get(position) else {
            return;
        };
        let known = here.known.after(source, length);
        let price = price + prices::literal(coder, &known) + self.prices.literal(*byte);
        let known = known.after(Symbol::LITERAL, 1);
        self.offer_again(content, coder, here, (price, known), (source, length));
    }

    /// Offers the latest distance after a literal, which may follow a match.
    #[inline]
    fn offer_again(
        &mut self,
        content: &[u8],
        coder: &Coder,
        here: &Here,
        (price, known): (u32, Knowledge),
        (source, lead): (u32, usize),
    ) {
        let position = here.position + lead + 1;
        let [distance, ..] = known.recent.values();
        let Some(earlier) = position.checked_sub(distance as usize) else {
            return;
        };
        let most = content.len().saturating_sub(position);
        let length = agreement(content, position, earlier, most.min(self.effort.nice));
        if length < MIN_MATCH {
            return;
        }
        let price = price + prices::latest(coder, &known) + self.prices.length(length);
        let to = here.index + lead + 1 + length;
        self.window.reach(to);
        let lead = u16::try_from(lead).unwrap_or(0);
        self.window.offer(to, price, source, length, lead);
    }
}

/// Returns whether two bytes are those at a distance before.
#[inline(always)]
fn repeats(content: &[u8], position: usize, distance: u32) -> bool {
    let pair = |at: usize| content.get(at..)?.first_chunk::<2>();
    let earlier = position.checked_sub(distance as usize).and_then(pair);
    earlier.is_some() && earlier == pair(position)
}

fn symbol(source: SymbolSource, length: usize) -> Symbol {
    Symbol {
        length: u32::try_from(length).unwrap_or(0),
        source: source.word(),
    }
}
