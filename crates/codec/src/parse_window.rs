//! The window of the optimal parsers of LZMA and LZMS: for each position the cheapest path to it
//! that is known.
//!
//! In: offers of symbols. Out: the symbols of the cheapest path.
//!
//! **Invariant:** each node up to the last one is reached by a step from a node before it.

use std::ops::Range;

/// The shortest match.
pub(super) const MIN_MATCH: usize = 2;

/// The longest match that is offered in all its lengths.
pub(super) const MAX_MATCH: usize = 273;

/// More than any path costs, yet far from overflow.
pub(super) const INFINITE: u32 = 1 << 30;

/// One symbol: a literal, or some bytes of before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Bytes that it stands for.
    pub(super) length: u32,
    /// [`Symbol::LITERAL`], or where the bytes come from, in the words of the coder: 0 is the last
    /// distance.
    pub(super) source: u32,
}

impl Symbol {
    /// The source of a literal.
    pub(super) const LITERAL: u32 = u32::MAX;

    /// Makes a literal.
    pub(super) const fn literal() -> Self {
        Self {
            length: 1,
            source: Self::LITERAL,
        }
    }
}

/// What a coder knows at a node.
pub(super) trait CoderState: Copy {
    /// What it knows before the first symbol.
    const START: Self;

    /// Returns the coder's state after one more symbol.
    fn after(self, source: u32, length: usize) -> Self;
}

/// Nodes of a window.
const WINDOW: usize = 1 << 11;

/// Nodes that may be written: a match, a literal and another match after the window.
const NODES: usize = WINDOW + 2 * MAX_MATCH + 2;

/// The step to a node: its last match only.
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

/// The nodes and the state of each.
#[derive(Debug)]
pub(super) struct ParseWindow<H> {
    /// What the cheapest way to each node costs; apart from the rest, since most offers only look
    /// at it.
    costs: Vec<u32>,
    steps: Vec<Step>,
    /// What the coder knows at each node that was looked at.
    heads: Vec<H>,
    /// The last node that is reached.
    last: usize,
}

impl<H: CoderState> ParseWindow<H> {
    /// Makes a window, which must be started.
    pub(super) fn new() -> Self {
        Self {
            costs: vec![INFINITE; NODES],
            steps: vec![Step::NONE; NODES],
            heads: vec![H::START; NODES],
            last: 0,
        }
    }

    /// Starts with one node.
    pub(super) fn start(&mut self, head: H) {
        self.costs[0] = 0;
        self.heads[0] = head;
        self.last = 0;
    }

    /// Returns whether all ways meet at a node, or no more of them are to be followed.
    #[inline(always)]
    pub(super) fn is_end(&self, index: usize) -> bool {
        index == self.last || index >= WINDOW
    }

    /// Returns the price of a settled node, and the coder's state there.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> (u32, H) {
        (self.costs[index], self.heads[index])
    }

    /// Computes the coder's state at a node from the step that reaches it.
    pub(super) fn settle(&mut self, index: usize) {
        let step = self.steps[index];
        let length = usize::from(step.length);
        self.heads[index] = if step.lead == ALONE {
            self.heads[index - length].after(step.source, length)
        } else {
            let lead = usize::from(step.lead);
            let mut head = self.heads[index - length - 1 - lead];
            if lead > 0 {
                head = head.after(step.source, lead);
            }
            head.after(Symbol::LITERAL, 1).after(0, length)
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
