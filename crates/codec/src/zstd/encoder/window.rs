//! The window of the parser: for each position the cheapest ways to it that are known.
//!
//! In: offers of literals and matches. Out: the sequences of the cheapest way.
//!
//! A position is a node, with two ways to it: the cheapest one that ends with a match and the
//! cheapest one that ends with a literal. They differ in what follows: a match right after another
//! one names recent offsets by other numbers, and the price of a literal depends on how many there
//! are before it.
//!
//! **Invariant:** each node up to the last one is reached by a step from a node before it.

use super::block::Sequence;
use super::offsets::RecentOffsets;
use super::prices::{INFINITE, LENGTHS};

/// Nodes of a window.
const WINDOW: usize = 1 << 11;

/// What the start costs: a literal may cost less than nothing, since a longer run may be cheaper.
const BASE: u32 = 1 << 20;

/// Nodes that may be written: those of a match that is offered at the last node of the window.
const NODES: usize = WINDOW + LENGTHS + 1;

/// How a way ends: after a match, or after literals.
pub(super) const MATCH: usize = 0;
pub(super) const LITERAL: usize = 1;

/// Where the kind of the way before is in a step's length.
const KIND_SHIFT: u32 = 31;
const LENGTH_MASK: u32 = (1 << KIND_SHIFT) - 1;

/// The last step of the cheapest way to a node that ends with a match.
#[derive(Debug, Clone, Copy)]
struct Step {
    offset: u32,
    /// The length, and above it the kind of the way before.
    length: u32,
}

impl Step {
    fn new(offset: u32, length: u32, from: usize) -> Self {
        Self {
            offset,
            length: length | (from as u32) << KIND_SHIFT,
        }
    }

    #[inline(always)]
    fn length(self) -> usize {
        (self.length & LENGTH_MASK) as usize
    }

    /// Returns the kind of the way that the match follows.
    #[inline(always)]
    fn from(self) -> usize {
        (self.length >> KIND_SHIFT) as usize & 1
    }
}

/// What is known of the end of a way.
#[derive(Debug, Clone, Copy)]
pub(super) struct WayEnd {
    pub(super) recent: RecentOffsets,
    /// Literals after the last match.
    pub(super) literals: u32,
}

/// The nodes and the state of each.
#[derive(Debug)]
pub(super) struct ParseWindow {
    /// What the cheapest ways to each node cost that end with a match; apart from the rest, since
    /// most offers only look at it.
    costs: Vec<u32>,
    steps: Vec<Step>,
    /// What the ways cost that end with a literal; of the nodes up to the one after the settled.
    literal_costs: Vec<u32>,
    /// The kinds of the ways that those literals follow.
    literal_from: Vec<u8>,
    /// What is known of both ways to each node that is settled.
    heads: Vec<[WayEnd; 2]>,
    /// The last node that is reached.
    last: usize,
    /// The matches of a way, the last one first: where they end, and how they are reached.
    matches: Vec<(usize, Step)>,
}

impl ParseWindow {
    /// Makes a window, which must be started.
    pub(super) fn new() -> Self {
        let head = WayEnd {
            recent: RecentOffsets::UNKNOWN,
            literals: 0,
        };
        Self {
            costs: vec![INFINITE; NODES],
            steps: vec![Step::new(0, 1, MATCH); NODES],
            literal_costs: vec![INFINITE; NODES],
            literal_from: vec![0; NODES],
            heads: vec![[head; 2]; NODES],
            last: 0,
            matches: Vec::new(),
        }
    }

    /// Starts with one node.
    pub(super) fn start(&mut self, head: WayEnd) {
        let (kind, costs) = match head.literals {
            0 => (MATCH, [BASE, INFINITE]),
            _ => (LITERAL, [INFINITE, BASE]),
        };
        [self.costs[0], self.literal_costs[0]] = costs;
        self.heads[0][kind] = head;
        self.last = 0;
    }

    /// Returns whether one way is left at a node, or no more of them are to be followed.
    #[inline(always)]
    pub(super) fn is_end(&self, index: usize) -> bool {
        let [by_match, by_literal] = self.costs(index);
        index >= WINDOW || index == self.last && by_match.max(by_literal) >= INFINITE
    }

    /// Returns the costs of both paths to a node.
    #[inline(always)]
    pub(super) fn costs(&self, index: usize) -> [u32; 2] {
        [self.costs[index], self.literal_costs[index]]
    }

    /// Returns the states of both paths to a settled node.
    #[inline(always)]
    pub(super) fn heads(&self, index: usize) -> [WayEnd; 2] {
        self.heads[index]
    }

    /// Returns the kind of the cheaper way to a node.
    #[inline(always)]
    pub(super) fn best(&self, index: usize) -> usize {
        let [by_match, by_literal] = self.costs(index);
        usize::from(by_literal < by_match)
    }

    /// Passes a node by if a match reaches the next one for no more than it; returns whether it
    /// does.
    #[inline(always)]
    pub(super) fn pass_by(&mut self, index: usize) -> bool {
        let [by_match, by_literal] = self.costs(index);
        let is_dearer = index < self.last && self.costs[index + 1] <= by_match.min(by_literal);
        if is_dearer {
            self.literal_costs[index + 1] = INFINITE;
        }
        is_dearer
    }

    /// Computes the state of a node from the step that reaches it.
    #[inline(always)]
    pub(super) fn settle(&mut self, index: usize) {
        if self.costs[index] < INFINITE {
            let step = self.steps[index];
            let mut head = self.heads[index - step.length()][step.from()];
            head.recent.name(step.offset, head.literals > 0);
            head.literals = 0;
            self.heads[index][MATCH] = head;
        }
    }

    /// Makes sure that the nodes up to an index can be offered something.
    #[inline(always)]
    pub(super) fn reach(&mut self, index: usize) {
        if index > self.last {
            self.costs[self.last + 1..=index].fill(INFINITE);
            self.last = index;
        }
    }

    /// Sets how a node is reached by a literal after one of the ways to the node before.
    #[inline(always)]
    pub(super) fn set_literal(&mut self, index: usize, price: u32, before: WayEnd, from: usize) {
        self.literal_costs[index] = price;
        self.literal_from[index] = from as u8;
        self.heads[index][LITERAL] = WayEnd {
            literals: before.literals + 1,
            ..before
        };
    }

    /// Offers a match after a way to a node, in all lengths from `shortest` on, each for `price`
    /// and that of the length.
    #[inline(never)]
    pub(super) fn offer(
        &mut self,
        (index, from): (usize, usize),
        shortest: usize,
        lengths: &[u32],
        price: u32,
        offset: u32,
    ) {
        let nodes = index + shortest..index + shortest + lengths.len();
        self.reach(nodes.end - 1);
        let costs = self.costs[nodes.clone()].iter_mut();
        let steps = self.steps[nodes].iter_mut();
        for (((cost, step), &more), length) in costs.zip(steps).zip(lengths).zip(shortest as u32..)
        {
            let price = price.wrapping_add(more);
            if price < *cost {
                *cost = price;
                *step = Step::new(offset, length, from);
            }
        }
    }

    /// Appends the sequences of a path to a settled node. Returns the state there.
    pub(super) fn trace(
        &mut self,
        end: usize,
        mut kind: usize,
        sequences: &mut Vec<Sequence>,
    ) -> WayEnd {
        let head = self.heads[end][kind];
        self.matches.clear();
        let mut index = end;
        while index > 0 {
            if kind == MATCH {
                let step = self.steps[index];
                self.matches.push((index, step));
                kind = step.from();
                index -= step.length();
            } else {
                kind = usize::from(self.literal_from[index] & 1);
                index -= 1;
            }
        }
        let mut position = 0;
        let mut literals = self.heads[0][kind].literals;
        for &(end, step) in self.matches.iter().rev() {
            let begin = end - step.length();
            sequences.push(Sequence {
                literals: literals + (begin - position) as u32,
                length: step.length() as u32,
                offset: step.offset,
            });
            literals = 0;
            position = end;
        }
        head
    }
}
