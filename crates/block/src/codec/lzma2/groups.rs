//! The groups of positions that the match table is made from: by their first bytes, each small.
//!
//! In: some bytes. Out: for each group its positions in order.
//!
//! Pairs of first bytes that are rare share a group with their neighbours; those that are frequent
//! are split by the third byte, and so on. The positions of some groups at a time are dealt out in
//! one walk over the bytes, as distances from one to the next, which take two bytes.
//!
//! **Invariant:** every position with two bytes is in exactly one group, but for the inside of runs of
//! one byte: there the match with the byte before is the nearest and as long as the depth.

use std::ops::Range;

/// The most positions of a group, unless [`MAX_PREFIX`] bytes agree.
const CAPACITY: usize = 1 << 16;

/// Bytes after which a group that is too large stays so.
const MAX_PREFIX: usize = 6;

/// Runs of one byte are noticed if they fill a block of this size.
const BLOCK: usize = 16;

/// Part of the positions that is dealt at a time.
const ROUNDS: usize = 2;

/// From this on a number means a node that looks at one more byte, below it a group.
const NODE: u16 = 1 << 15;

/// A distance that does not end at a position.
const FAR: u16 = u16::MAX;

/// A group of positions.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The first two bytes, big-endian.
    pub(super) pairs: Range<usize>,
    /// Bytes that agree if it is more than two or there is one pair.
    pub(super) agreed: usize,
    /// How many positions it has.
    count: usize,
}

/// How positions are grouped, and the distances of those that are dealt.
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
    streams: Vec<Stream>,
    distances: Vec<u16>,
}

/// Where the distances of a group are.
#[derive(Debug, Clone, Copy)]
struct Stream {
    start: usize,
    end: usize,
    /// The last position that was written.
    last: u32,
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
            streams: Vec::new(),
            distances: Vec::new(),
        }
    }

    /// Gives the insides of long runs of one byte.
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
        self.walk(bytes, |_, pair| counts[pair] += 1);
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

    /// Calls a function with each position that is grouped, and its first two bytes.
    #[inline(always)]
    fn walk(&self, bytes: &[u8], mut each: impl FnMut(usize, usize)) {
        let last = bytes.len().saturating_sub(1);
        let mut start = 0;
        let ends = self.runs.iter().map(|run| (run.start, run.end));
        for (end, next) in ends.chain([(last, last)]) {
            let stretch = bytes.get(start..=end.min(last)).unwrap_or_default();
            for (index, pair) in stretch.windows(2).enumerate() {
                each(
                    start + index,
                    usize::from(pair[0]) << 8 | usize::from(pair[1]),
                );
            }
            start = next;
        }
    }

    /// Makes groups and nodes of the counts by one more byte (or the first two), up to which `agreed`
    /// bytes agree. `nodes` gets the first two bytes of each new node.
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

    /// Splits nodes by the byte after those that agree; gives the first two bytes of the next nodes.
    fn split(&mut self, bytes: &[u8], agreed: usize, pairs: &[usize]) -> Vec<usize> {
        let base = self.nodes.len();
        let mut counts = vec![[0u32; 256]; pairs.len()];
        self.walk(bytes, |position, pair| {
            let mut meaning = self.first[pair];
            let mut at = position + 2;
            while meaning >= NODE {
                let node = usize::from(meaning - NODE);
                let byte = byte_at(bytes, at);
                match self.nodes.get(node) {
                    Some(next) => meaning = next[byte],
                    None => {
                        counts[node - base][byte] += 1;
                        break;
                    }
                }
                at += 1;
            }
        });
        self.nodes.resize(base + pairs.len(), [0; 256]);
        let mut nodes = Vec::new();
        for (index, (counts, &pair)) in counts.iter().zip(pairs).enumerate() {
            let mut node = [0; 256];
            self.share_out(counts, &mut node, agreed + 1, Some(pair), &mut nodes);
            self.nodes[base + index] = node;
        }
        nodes
    }

    /// Deals out the positions of the next groups; gives their indexes, or `None` after the last one.
    pub(super) fn deal(&mut self, bytes: &[u8]) -> Option<Range<usize>> {
        let begin = self.dealt.end;
        let most = (bytes.len() / ROUNDS).max(1 << 20);
        let room = bytes.len() / usize::from(FAR) + 1;
        let (mut total, mut start) = (0, 0);
        self.streams.clear();
        for group in self.groups.get(begin..)? {
            if total > 0 && total + group.count > most {
                break;
            }
            total += group.count;
            self.streams.push(Stream {
                start,
                end: start,
                last: 0,
            });
            start += group.count + room;
        }
        if self.streams.is_empty() {
            // a fifth of what the table takes, which nobody needs while the block is coded
            self.distances = Vec::new();
            return None;
        }
        self.dealt = begin..begin + self.streams.len();
        if self.distances.len() < start {
            self.distances.resize(start, 0);
        }
        let mut streams = std::mem::take(&mut self.streams);
        let mut distances = std::mem::take(&mut self.distances);
        self.walk(bytes, |position, pair| {
            let mut meaning = self.first[pair];
            let mut at = position + 2;
            while meaning >= NODE {
                meaning = self.nodes[usize::from(meaning - NODE)][byte_at(bytes, at)];
                at += 1;
            }
            let index = usize::from(meaning).wrapping_sub(begin);
            if let Some(stream) = streams.get_mut(index) {
                let mut distance = position as u32 - stream.last;
                stream.last = position as u32;
                while distance >= u32::from(FAR) {
                    distances[stream.end] = FAR;
                    stream.end += 1;
                    distance -= u32::from(FAR);
                }
                distances[stream.end] = distance as u16;
                stream.end += 1;
            }
        });
        self.streams = streams;
        self.distances = distances;
        Some(self.dealt.clone())
    }

    /// Gives a group that is dealt.
    pub(super) fn group(&self, index: usize) -> &Group {
        &self.groups[index]
    }

    /// Gives the positions of a group that is dealt.
    pub(super) fn positions(&self, index: usize) -> impl Iterator<Item = u32> {
        let stream = &self.streams[index - self.dealt.start];
        let mut position = 0u32;
        let distances = self.distances[stream.start..stream.end].iter();
        distances.filter_map(move |&distance| {
            position = position.wrapping_add(u32::from(distance));
            (distance != FAR).then_some(position)
        })
    }

    /// Tells where the positions with each pair of first bytes start if a group is sorted by pairs.
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
