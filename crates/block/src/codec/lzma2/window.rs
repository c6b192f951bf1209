//! The window of the optimal parser: for each position the cheapest way to it that is known.
//!
//! In: offers of symbols. Out: the symbols of the cheapest way.
//!
//! **Invariant:** each node up to the last one is reached by a step from a node before it.

use std::ops::Range;

use super::coder::Symbol;
use super::model::{MAX_MATCH, MIN_MATCH, Reps, State, push_rep, use_rep};
use super::price::INFINITE;

/// Nodes of a window.
const WINDOW: usize = 1 << 11;

/// Nodes that may be written: a match, a literal and another match after the window.
const NODES: usize = WINDOW + 2 * MAX_MATCH + 2;

/// How a node is reached: its last match alone.
pub(super) const ALONE: u16 = u16::MAX;

/// The last step of the cheapest way to a node.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The source of the symbol, or of the first of three.
    source: u32,
    /// The length of the last symbol.
    length: u16,
    /// [`ALONE`], or the length of a match before a literal before the last symbol, 0 for no match.
    lead: u16,
}

impl Step {
    const NONE: Self = Self {
        source: 0,
        length: 0,
        lead: ALONE,
    };
}

/// The nodes and what is known of each.
#[derive(Debug)]
pub(super) struct Window {
    /// What the cheapest way to each node costs; apart from the rest, since most offers only look
    /// at it.
    costs: Vec<u32>,
    steps: Vec<Step>,
    /// The state and the last distances at each node that was looked at.
    heads: Vec<(State, Reps)>,
    /// The last node that is reached.
    last: usize,
}

impl Window {
    /// Makes a window, which must be started.
    pub(super) fn new() -> Self {
        Self {
            costs: vec![INFINITE; NODES],
            steps: vec![Step::NONE; NODES],
            heads: vec![(State::START, [0; 4]); NODES],
            last: 0,
        }
    }

    /// Starts with one node.
    pub(super) fn start(&mut self, state: State, reps: Reps) {
        self.costs[0] = 0;
        self.heads[0] = (state, reps);
        self.last = 0;
    }

    /// Returns whether all ways meet at a node, or no more of them are to be followed.
    #[inline(always)]
    pub(super) fn is_end(&self, index: usize) -> bool {
        index == self.last || index >= WINDOW
    }

    /// Returns the price, the state and the last distances of a node that is settled.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> (u32, State, Reps) {
        let (state, reps) = self.heads[index];
        (self.costs[index], state, reps)
    }

    /// Works out the state of a node from how it is reached.
    pub(super) fn settle(&mut self, index: usize) {
        let step = self.steps[index];
        let length = usize::from(step.length);
        self.heads[index] = if step.lead == ALONE {
            let (state, reps) = self.heads[index - length];
            after(state, reps, step.source, length)
        } else {
            let lead = usize::from(step.lead);
            let (mut state, mut reps) = self.heads[index - length - 1 - lead];
            if lead > 0 {
                (state, reps) = after(state, reps, step.source, lead);
            }
            (state.literal().repeated(), reps)
        };
    }

    /// Makes sure that the nodes up to an index can be offered something.
    #[inline(always)]
    pub(super) fn reach(&mut self, index: usize) {
        if index > self.last {
            self.costs[self.last + 1..=index].fill(INFINITE);
            self.last = index;
        }
    }

    /// Takes a way to a node if it is the cheapest.
    #[inline(always)]
    pub(super) fn offer(
        &mut self,
        index: usize,
        price: u32,
        source: u32,
        length: usize,
        lead: u16,
    ) {
        let cost = &mut self.costs[index];
        if price < *cost {
            *cost = price;
            self.steps[index] = Step {
                source,
                length: length as u16,
                lead,
            };
        }
    }

    /// Follows the cheapest way to a node back to the start.
    pub(super) fn trace(&self, mut index: usize, symbols: &mut Vec<Symbol>) {
        while index > 0 {
            let step = self.steps[index];
            let length = u32::from(step.length);
            index -= usize::from(step.length);
            if step.lead == ALONE {
                symbols.push(Symbol {
                    length,
                    source: step.source,
                });
                continue;
            }
            symbols.push(Symbol { length, source: 0 });
            symbols.push(Symbol::literal());
            index -= 1;
            if step.lead > 0 {
                symbols.push(Symbol {
                    length: step.lead.into(),
                    source: step.source,
                });
                index -= usize::from(step.lead);
            }
        }
    }

    /// Offers a source from a node on in all lengths of a range, each for `price` and that of the
    /// length.
    #[inline(always)]
    pub(super) fn offer_lengths(
        &mut self,
        index: usize,
        prices: &[u32],
        lengths: Range<usize>,
        price: u32,
        source: u32,
    ) {
        let shortest = lengths.start;
        let inside = shortest - MIN_MATCH..lengths.end.max(shortest) - MIN_MATCH;
        let lengths = shortest..lengths.end.max(shortest);
        let costs = self.costs[index..][lengths.clone()].iter_mut();
        let steps = self.steps[index..][lengths].iter_mut();
        let lengths = (shortest as u16)..;
        for (((cost, step), &more), length) in costs.zip(steps).zip(&prices[inside]).zip(lengths) {
            let price = price.wrapping_add(more);
            if price < *cost {
                *cost = price;
                *step = Step {
                    source,
                    length,
                    lead: ALONE,
                };
            }
        }
    }
}

/// Returns the state and the last distances after a symbol.
#[inline(always)]
fn after(state: State, reps: Reps, source: u32, length: usize) -> (State, Reps) {
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
