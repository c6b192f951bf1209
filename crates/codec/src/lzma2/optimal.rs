//! The optimal parser: the cheapest way through the next bytes by the present prices.
//!
//! In: the matches of each position. Out: symbols up to a position where all good ways meet.
//!
//! A window of nodes, one for each position, holds the cheapest way known to it. Each node in turn
//! offers all that may follow it: a literal, the last distances, matches of every length, and a
//! literal followed by the last distance again, which pays often where data differ in one byte.
//!
//! **Invariant:** the symbols cover the bytes from the start without a gap and are valid in the
//! coder's state at the start.

use super::coder::{Coder, Symbol};
use super::effort::Effort;
use super::model::{LENGTH_CLASSES, MAX_MATCH, MIN_MATCH, Reps, State, length_class};
use super::price::{self, Prices};
use crate::match_finder::MatchTable;
use crate::match_finder::{Finder, Match, agreement};
use crate::parse_window::{ALONE, ParseWindow};

/// What a parser looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) block: &'a [u8],
    pub(super) table: &'a MatchTable,
}

/// A parser with its window and its prices.
#[derive(Debug)]
pub(super) struct Optimal {
    window: ParseWindow<(State, Reps)>,
    prices: Prices,
    /// Symbols since the prices were worked out.
    age: usize,
    /// Symbols after which they are computed again.
    stale: usize,
    /// A match of this length is taken without a further search.
    nice: usize,
}

/// A node while its successors are computed.
struct Here {
    index: usize,
    position: usize,
    place: usize,
    price: u32,
    state: State,
    reps: Reps,
}

impl Optimal {
    /// Makes a parser.
    pub(super) fn new() -> Self {
        Self {
            window: ParseWindow::new(),
            prices: Prices::new(),
            age: 0,
            stale: 0,
            nice: MAX_MATCH,
        }
    }

    /// Starts on a block.
    pub(super) fn start(&mut self, effort: &Effort) {
        self.nice = effort.nice;
        self.stale = effort.stale;
        self.age = self.stale;
    }

    /// Finds the next symbols from a position on, the last one first.
    pub(super) fn parse(
        &mut self,
        input: Input<'_>,
        finder: &mut Finder<MIN_MATCH>,
        coder: &Coder,
        start: usize,
        symbols: &mut Vec<Symbol>,
    ) {
        if self.age >= self.stale {
            self.age = 0;
            let places = 1 << coder.properties.pb;
            self.prices.refresh(&coder.model, places);
        }
        self.window.start((coder.state, coder.reps));
        let mut index = 0;
        let taken = loop {
            if index > 0 {
                self.window.settle(index);
                if self.window.is_end(index) {
                    break None;
                }
            }
            let taken = self.visit(input, finder, coder, start, index);
            if taken.is_some() {
                break taken;
            }
            index += 1;
        };
        if let Some(symbol) = taken {
            let after = start + index + 1;
            finder.skip(input.block, after..after + symbol.length as usize - 1);
            symbols.push(symbol);
        }
        self.window.trace(index, symbols);
        self.age += symbols.len();
    }

    /// Offers all that may follow a node; gives a symbol that is so long that it is taken at once.
    #[inline]
    fn visit(
        &mut self,
        input: Input<'_>,
        finder: &mut Finder<MIN_MATCH>,
        coder: &Coder,
        start: usize,
        index: usize,
    ) -> Option<Symbol> {
        let (price, (state, reps)) = self.window.at(index);
        let position = start + index;
        let here = Here {
            index,
            position,
            place: coder.properties.position_state(position),
            price,
            state,
            reps,
        };
        let most = (input.block.len() - position).min(MAX_MATCH);
        let matches = finder.find(input.block, input.table, position, most);
        self.single(input.block, coder, &here);
        if most < MIN_MATCH {
            return None;
        }
        let model = &coder.model;
        let state = here.state.index();
        let price = here.price + price::bit(model.is_match[state][here.place], 1);
        let is_rep = model.is_rep[state];
        let mut shortest = MIN_MATCH;
        for rep in 0..4 {
            let Some(length) = repeated(input.block, &here, rep, most) else {
                continue;
            };
            if length >= self.nice {
                return Some(Symbol {
                    length: length as u32,
                    source: rep as u32,
                });
            }
            let price = price + price::bit(is_rep, 1);
            self.offer_rep(input.block, coder, &here, price, rep, length);
            if rep == 0 {
                shortest = length + 1;
            }
        }
        let &longest = matches.last()?;
        if longest.length >= self.nice {
            return Some(Symbol {
                length: longest.length as u32,
                source: longest.distance + Symbol::DISTANCE,
            });
        }
        let price = price + price::bit(is_rep, 0);
        for &found in matches {
            self.offer_match(input.block, coder, &here, price, found, shortest);
            shortest = shortest.max(found.length + 1);
        }
        None
    }

    /// Offers the symbols of one byte, and a literal before the last distance.
    #[inline]
    fn single(&mut self, block: &[u8], coder: &Coder, here: &Here) {
        let model = &coder.model;
        let state = here.state.index();
        let is_match = model.is_match[state][here.place];
        let distance = here.reps[0] as usize + 1;
        let beside = here.position.checked_sub(distance).map(|at| block[at]);
        let byte = block[here.position];
        let literal = here.price
            + price::bit(is_match, 0)
            + literal_price(block, coder, here.position, here.state, beside);
        self.window.reach(here.index + 1);
        self.window
            .offer(here.index + 1, literal, Symbol::LITERAL, 1, ALONE);
        if beside == Some(byte) {
            let price = here.price
                + price::bit(is_match, 1)
                + price::bit(model.is_rep[state], 1)
                + price::bit(model.is_rep0[state], 0)
                + price::bit(model.is_rep0_long[state][here.place], 0);
            self.window.offer(here.index + 1, price, 0, 1, ALONE);
        } else if beside.is_some() {
            let end = here.position + 1;
            let state = here.state.literal();
            self.offer_again(
                block, coder, here.index, end, distance, literal, state, 0, 0,
            );
        }
    }

    /// Offers a last distance in all lengths.
    #[inline]
    fn offer_rep(
        &mut self,
        block: &[u8],
        coder: &Coder,
        here: &Here,
        price: u32,
        rep: usize,
        length: usize,
    ) {
        let price = price + price::rep_index(&coder.model, here.state, here.place, rep);
        self.window.reach(here.index + length);
        let lengths = self.prices.rep_length.at(here.place);
        let range = MIN_MATCH..length + 1;
        self.window
            .offer_lengths(here.index, lengths, range, price, rep as u32);
        let price = price + self.prices.rep_length.of(here.place, length);
        let state = here.state.repeated();
        let distance = here.reps[rep] as usize + 1;
        self.literal_between(
            block, coder, here, price, rep as u32, length, state, distance,
        );
    }

    /// Offers a match in all lengths that no nearer one has.
    #[inline]
    fn offer_match(
        &mut self,
        block: &[u8],
        coder: &Coder,
        here: &Here,
        price: u32,
        found: Match,
        shortest: usize,
    ) {
        let source = found.distance + Symbol::DISTANCE;
        self.window.reach(here.index + found.length);
        let far = price + self.prices.distance(found.distance, LENGTH_CLASSES - 1);
        let dear = MIN_MATCH + LENGTH_CLASSES - 1;
        for length in shortest..(found.length + 1).min(dear) {
            let price = price
                + self.prices.distance(found.distance, length_class(length))
                + self.prices.match_length.of(here.place, length);
            self.window
                .offer(here.index + length, price, source, length, ALONE);
        }
        let lengths = self.prices.match_length.at(here.place);
        let range = shortest.max(dear)..found.length + 1;
        self.window
            .offer_lengths(here.index, lengths, range, far, source);
        let class = length_class(found.length);
        let price = price
            + self.prices.distance(found.distance, class)
            + self.prices.match_length.of(here.place, found.length);
        let state = here.state.matched();
        let distance = found.distance as usize + 1;
        self.literal_between(
            block,
            coder,
            here,
            price,
            source,
            found.length,
            state,
            distance,
        );
    }

    /// Offers a match, a literal and the same distance again.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a hot path")]
    fn literal_between(
        &mut self,
        block: &[u8],
        coder: &Coder,
        here: &Here,
        price: u32,
        source: u32,
        length: usize,
        state: State,
        distance: usize,
    ) {
        let position = here.position + length;
        if position + 1 + MIN_MATCH > block.len() {
            return;
        }
        let again = position + 1;
        if block[again] != block[again - distance]
            || block[again + 1] != block[again + 1 - distance]
        {
            return;
        }
        let place = coder.properties.position_state(position);
        let beside = Some(block[position - distance]);
        let price = price
            + price::bit(coder.model.is_match[state.index()][place], 0)
            + literal_price(block, coder, position, state, beside);
        let state = state.literal();
        self.offer_again(
            block, coder, here.index, again, distance, price, state, source, length,
        );
    }

    /// Offers the last distance after a literal.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a hot path")]
    fn offer_again(
        &mut self,
        block: &[u8],
        coder: &Coder,
        index: usize,
        position: usize,
        distance: usize,
        price: u32,
        state: State,
        source: u32,
        lead: usize,
    ) {
        let most = (block.len() - position).min(self.nice);
        let length = agreement(block, position, position - distance, most);
        if length < MIN_MATCH {
            return;
        }
        let place = coder.properties.position_state(position);
        let model = &coder.model;
        let price = price
            + price::bit(model.is_match[state.index()][place], 1)
            + price::bit(model.is_rep[state.index()], 1)
            + price::rep_index(model, state, place, 0)
            + self.prices.rep_length.of(place, length);
        let to = index + lead + 1 + length;
        self.window.reach(to);
        self.window.offer(to, price, source, length, lead as u16);
    }
}

/// Returns how long the match of a last distance is, if there is one.
#[inline(always)]
fn repeated(block: &[u8], here: &Here, rep: usize, most: usize) -> Option<usize> {
    let earlier = here.position.checked_sub(here.reps[rep & 3] as usize + 1)?;
    if block[earlier] != block[here.position] || block[earlier + 1] != block[here.position + 1] {
        return None;
    }
    Some(agreement(block, here.position, earlier, most))
}

/// Returns the price of the byte at a position after a state, without the bit for a literal.
#[inline(always)]
fn literal_price(
    block: &[u8],
    coder: &Coder,
    position: usize,
    state: State,
    beside: Option<u8>,
) -> u32 {
    let previous = block[..position].last().copied().unwrap_or(0);
    let probabilities = &coder.model.literal[coder.properties.literal_coder(position, previous)];
    let byte = block[position];
    match beside {
        Some(beside) if !state.after_literal() => {
            price::literal_beside(probabilities, byte, beside)
        }
        _ => price::literal(probabilities, byte),
    }
}
