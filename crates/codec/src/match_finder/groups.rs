//! The groups of positions that the match table is made from: by their first bytes, each small.
//!
//! In: some bytes. Out: for each group its positions in order.
//!
//! Pairs of first bytes that are rare share a group with their neighbours; those that are frequent
//! are split by the third byte, and so on, as far as a sample of the bytes shows. The positions of
//! some groups at a time are dealt out ([`super::streams`]).
//!
//! **Invariant:** every position with two bytes is in exactly one group, but for the inside of runs
//! of one byte: there the match with the byte before is the nearest and as long as the depth.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::share::{Helped, share};

use super::streams::{Positions, Streams};

/// The most positions of a group, unless [`MAX_PREFIX`] bytes agree; nearly, since samples decide.
const CAPACITY: usize = 1 << 16;

/// Bytes after which a group that is too large stays so.
const MAX_PREFIX: usize = 6;

/// Runs of one byte are noticed if they fill a block of this size.
const BLOCK: usize = 16;

/// Part of the positions that is dealt at a time.
const ROUNDS: usize = 2;

/// From this on a number means a node that looks at one more byte, below it a group.
const NODE: u16 = 1 << 15;

/// Bytes whose positions one thread deals at a time.
const STRETCH: usize = 4 << 20;

/// Of how many bytes one is in a sample, and how many of those follow each other.
const SAMPLED: usize = 8;
const SAMPLE: usize = 1 << 12;

/// Fewer bytes are looked at as a whole.
const LEAST_SAMPLED: usize = 8 << 20;

/// A group of positions.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The first two bytes, big-endian.
    pub(super) pairs: Range<usize>,
    /// Bytes that agree if it is more than two or there is one pair.
    pub(super) agreed: usize,
    /// How many positions it has, nearly.
    count: usize,
}

/// How positions are grouped, and those that are dealt.
#[derive(Debug)]
pub(super) struct Groups {
    /// What the first two bytes mean: a group or a node.
    first: Vec<u16>,
    nodes: Vec<[u16; 256]>,
    groups: Vec<Group>,
    /// The number of positions by first two bytes.
    counts: Vec<u32>,
    /// The insides of runs.
    runs: Vec<Range<usize>>,
    /// The groups that are dealt.
    dealt: Range<usize>,
    stretches: Vec<Streams>,
}

impl Groups {
    /// Makes a plan of nothing.
    pub(super) fn new() -> Self {
        Self {
            first: Vec::new(),
            nodes: Vec::new(),
            groups: Vec::new(),
            counts: Vec::new(),
            runs: Vec::new(),
            dealt: 0..0,
            stretches: Vec::new(),
        }
    }

    /// Returns the insides of long runs of one byte.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        self.runs.iter().cloned()
    }

    /// Works out the groups of some bytes.
    pub(super) fn plan(&mut self, bytes: &[u8], depth: usize) {
        self.find_runs(bytes, depth);
        self.nodes.clear();
        self.groups.clear();
        self.dealt = 0..0;
        let mut counts = std::mem::take(&mut self.counts);
        counts.clear();
        counts.resize(1 << 16, 0);
        self.walk(bytes, 0..bytes.len(), |_, pair| counts[pair] += 1);
        let mut first = std::mem::take(&mut self.first);
        first.clear();
        first.resize(1 << 16, 0);
        let mut nodes = Vec::new();
        self.share_out(&counts, &mut first, 2, None, &mut nodes);
        self.first = first;
        self.counts = counts;
        let mut agreed = 2;
        while !nodes.is_empty() {
            nodes = self.split(bytes, agreed, &nodes);
            agreed += 1;
        }
    }

    /// Finds the insides of runs of one byte, which are not grouped.
    fn find_runs(&mut self, bytes: &[u8], depth: usize) {
        self.runs.clear();
        let mut end = 0;
        for (index, &block) in bytes.as_chunks::<BLOCK>().0.iter().enumerate() {
            let at = index * BLOCK;
            if at < end || block != [block[0]; BLOCK] {
                continue;
            }
            let same = |&&byte: &&u8| byte == block[0];
            let start = at - bytes[end..at].iter().rev().take_while(same).count();
            end = at + bytes[at..].iter().take_while(same).count();
            let inside = start + 1..end.saturating_sub(depth);
            if !inside.is_empty() {
                self.runs.push(inside);
            }
        }
    }

    /// Calls a function with each position of a range that is grouped, and its first two bytes.
    #[inline(always)]
    fn walk(&self, bytes: &[u8], range: Range<usize>, mut each: impl FnMut(usize, usize)) {
        let end = range.end.min(bytes.len().saturating_sub(1));
        let mut start = range.start;
        let first = self.runs.partition_point(|run| run.end <= start);
        let runs = self.runs[first..].iter().take_while(|run| run.start < end);
        let ends = runs.map(|run| (run.start, run.end));
        for (stop, next) in ends.chain([(end, end)]) {
            let stretch = bytes.get(start..=stop).unwrap_or_default();
            for (index, pair) in stretch.windows(2).enumerate() {
                each(
                    start + index,
                    usize::from(pair[0]) << 8 | usize::from(pair[1]),
                );
            }
            start = next;
        }
    }

    /// Makes groups and nodes of the counts by one more byte (or the first two), up to which
    /// `agreed` bytes agree. `nodes` gets the first two bytes of each new node.
    fn share_out(
        &mut self,
        counts: &[u32],
        meanings: &mut [u16],
        agreed: usize,
        pair: Option<usize>,
        nodes: &mut Vec<usize>,
    ) {
        let mut open = false;
        for (value, (&count, meaning)) in counts.iter().zip(meanings).enumerate() {
            let count = count as usize;
            let pairs = pair.unwrap_or(value);
            if count > CAPACITY && agreed < MAX_PREFIX {
                *meaning = NODE + (self.nodes.len() + nodes.len()) as u16;
                nodes.push(pairs);
                open = false;
                continue;
            }
            match self.groups.last_mut() {
                Some(group) if open && group.count + count <= CAPACITY => {
                    group.count += count;
                    group.pairs.end = pairs + 1;
                }
                _ => self.groups.push(Group {
                    pairs: pairs..pairs + 1,
                    agreed: agreed - usize::from(pair.is_some()),
                    count,
                }),
            }
            open = true;
            *meaning = (self.groups.len() - 1) as u16;
        }
    }

    /// Splits nodes by the byte after those that agree; gives the first two bytes of the next
    /// nodes.
    fn split(&mut self, bytes: &[u8], agreed: usize, pairs: &[usize]) -> Vec<usize> {
        let base = self.nodes.len();
        let mut counts = vec![[0u32; 256]; pairs.len()];
        let (sampled, sample) = match bytes.len() {
            ..LEAST_SAMPLED => (1, bytes.len().max(1)),
            _ => (SAMPLED, SAMPLE),
        };
        for start in (0..bytes.len()).step_by(sampled * sample) {
            self.walk(bytes, start..start + sample, |position, pair| {
                let mut meaning = self.first[pair];
                let mut at = position + 2;
                while meaning >= NODE {
                    let node = usize::from(meaning - NODE);
                    let byte = byte_at(bytes, at);
                    match self.nodes.get(node) {
                        Some(next) => meaning = next[byte],
                        None => {
                            counts[node - base][byte] += sampled as u32;
                            break;
                        }
                    }
                    at += 1;
                }
            });
        }
        self.nodes.resize(base + pairs.len(), [0; 256]);
        let mut nodes = Vec::new();
        for (index, (counts, &pair)) in counts.iter().zip(pairs).enumerate() {
            let mut node = [0; 256];
            self.share_out(counts, &mut node, agreed + 1, Some(pair), &mut nodes);
            self.nodes[base + index] = node;
        }
        nodes
    }

    /// Deals out the positions of the next groups; gives their indexes, or `None` after the last
    /// one.
    pub(super) fn deal(&mut self, bytes: &[u8], helped: Helped<'_>) -> Option<Range<usize>> {
        let begin = self.dealt.end;
        let most = (bytes.len() / ROUNDS).max(1 << 20);
        let mut total = 0;
        let fit = |group: &&Group| {
            total += group.count;
            total <= most || total == group.count
        };
        let groups = self.groups.get(begin..)?.iter().take_while(fit).count();
        if groups == 0 {
            // a fifth of what the table takes, which nobody needs while the block is coded
            self.stretches = Vec::new();
            return None;
        }
        self.dealt = begin..begin + groups;
        let mut stretches = std::mem::take(&mut self.stretches);
        stretches.resize_with(bytes.len().div_ceil(STRETCH), Streams::default);
        let stretches: Vec<_> = stretches.into_iter().map(Mutex::new).collect();
        let deal = |index: usize| {
            let slot: &Mutex<Streams> = &stretches[index];
            let mut streams = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let start = index * STRETCH;
            let range = start..bytes.len().min(start + STRETCH);
            self.deal_stretch(bytes, range, &mut streams);
        };
        share(
            helped,
            stretches.len(),
            &mut (),
            || (),
            |(), index| deal(index),
        );
        let done = |slot: Mutex<Streams>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.stretches = stretches.into_iter().map(done).collect();
        Some(self.dealt.clone())
    }

    /// Deals out the positions in a stretch.
    fn deal_stretch(&self, bytes: &[u8], range: Range<usize>, streams: &mut Streams) {
        let begin = self.dealt.start;
        streams.start(range.start, range.len(), self.dealt.len());
        self.walk(bytes, range, |position, pair| {
            let mut meaning = self.first[pair];
            let mut at = position + 2;
            while meaning >= NODE {
                meaning = self.nodes[usize::from(meaning - NODE)][byte_at(bytes, at)];
                at += 1;
            }
            streams.add(usize::from(meaning).wrapping_sub(begin), position);
        });
    }

    /// Returns a group that is dealt.
    pub(super) fn group(&self, index: usize) -> &Group {
        &self.groups[index]
    }

    /// Returns the positions of a group that is dealt.
    pub(super) fn positions(&self, index: usize) -> Positions<'_> {
        Positions::new(&self.stretches, index - self.dealt.start)
    }

    /// Returns where the positions with each pair of first bytes start if a group is sorted by
    /// pairs.
    pub(super) fn starts(&self, group: &Group, starts: &mut Vec<u32>) {
        let mut start = 0;
        starts.clear();
        starts.extend(self.counts[group.pairs.clone()].iter().map(|&count| {
            let here = start;
            start += count;
            here
        }));
    }
}

/// Reads a byte; after the end any would do, since matches are cut there.
#[inline(always)]
fn byte_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at).copied().unwrap_or(0).into()
}
