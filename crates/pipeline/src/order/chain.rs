//! A greedy chain of contents by similarity.
//!
//! Enters contents with their sketches; leaves a permutation of them, in clusters: after a content
//! comes the most similar one left; where none is similar enough, the next one in the given order
//! begins a cluster, large ones before all others. **Invariant:** depends only on the sketches, the
//! sizes and the given order; time grows as n log n.

use std::cmp::Reverse;

use crate::sketch::{EMPTY, Sketch, VALUES};

/// Contents in order, and the positions at which clusters begin.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) contents: Vec<u32>,
    pub(super) clusters: Vec<usize>,
    /// Bytes of the contents.
    pub(super) bytes: u64,
    /// Bytes of them that, by the sketches, the content before does not have.
    pub(super) new_bytes: u64,
}

/// The input of a chain in addition to the sketches.
pub(super) struct ChainRules<S> {
    /// The fewest equal sketch values of neighbours in a cluster.
    pub(super) min_agreement: usize,
    /// Contents of at least this many bytes begin clusters first, the largest one before all
    /// others.
    pub(super) large: u64,
    /// Returns the bytes of a content.
    pub(super) size: S,
}

impl Chain {
    /// Appends the given contents, each followed by the most similar one left.
    pub(super) fn extend<S: Fn(u32) -> u64>(
        &mut self,
        contents: &[u32],
        mut sketches: Vec<Sketch>,
        rules: &ChainRules<S>,
    ) {
        let size = |rank: u32| (rules.size)(contents[rank as usize]);
        // from here on, contents are identified by their rank in `contents`
        let mut firsts: Vec<u32> = (0..contents.len() as u32).collect();
        // stable: the others, and equal sizes, stay in the given order
        firsts.sort_by_key(|&rank| Reverse(Some(size(rank)).filter(|&size| size >= rules.large)));
        let mut lists = Lists::new(&mut sketches);
        for first in firsts {
            if lists.is_placed(first) {
                continue;
            }
            self.clusters.push(self.contents.len());
            let mut next = Some((0, first));
            while let Some((agreement, rank)) = next {
                lists.place(rank);
                self.contents.push(contents[rank as usize]);
                let bytes = size(rank);
                let known = u128::from(bytes) * agreement as u128 / VALUES as u128;
                self.bytes = self.bytes.saturating_add(bytes);
                self.new_bytes = self.new_bytes.saturating_add(bytes - known as u64);
                next = lists.most_like(&sketches, rank, rules.min_agreement);
            }
        }
    }
}

/// The most contents of a list that are compared with one content.
const MAX_CANDIDATES: usize = 48;

/// For each value of each sketch slot, the contents that have it and are not yet placed, by rank.
struct Lists {
    /// The members of all lists.
    members: Vec<u32>,
    /// The start of each list in `members`, and its remaining length.
    spans: Vec<(u32, u32)>,
    placed: Vec<bool>,
    /// The content that each was last compared with, so that it is compared once.
    seen: Vec<u32>,
}

impl Lists {
    /// Builds the lists and replaces each sketch value by the number of its list; values of a
    /// single content become `EMPTY`.
    fn new(sketches: &mut [Sketch]) -> Self {
        let mut members: Vec<u32> = Vec::new();
        let mut spans = Vec::new();
        let mut ranks: Vec<u32> = Vec::with_capacity(sketches.len());
        for place in 0..VALUES {
            let value = |sketches: &[Sketch], rank: u32| sketches[rank as usize][place];
            ranks.clear();
            ranks.extend((0..sketches.len() as u32).filter(|&rank| value(sketches, rank) != EMPTY));
            ranks.sort_unstable_by_key(|&rank| (value(sketches, rank), rank));
            let mut rest = &ranks[..];
            while let Some(&head) = rest.first() {
                let wanted = value(sketches, head);
                let same = rest
                    .iter()
                    .take_while(|&&rank| value(sketches, rank) == wanted);
                let count = same.count();
                let (same, after) = rest.split_at(count);
                rest = after;
                let list = if count > 1 { spans.len() as u32 } else { EMPTY };
                for &rank in same {
                    sketches[rank as usize][place] = list;
                }
                if count > 1 {
                    spans.push((members.len() as u32, count as u32));
                    members.extend_from_slice(same);
                }
            }
        }
        let count = sketches.len();
        Self {
            members,
            spans,
            placed: vec![false; count],
            seen: vec![EMPTY; count],
        }
    }

    fn is_placed(&self, rank: u32) -> bool {
        self.placed[rank as usize]
    }

    fn place(&mut self, rank: u32) {
        self.placed[rank as usize] = true;
    }

    /// Returns the content not yet placed whose sketch has most values in common with the sketch of
    /// `rank`, and their number; of several, the one of least rank.
    fn most_like(
        &mut self,
        sketches: &[Sketch],
        rank: u32,
        min_agreement: usize,
    ) -> Option<(usize, u32)> {
        let mine = &sketches[rank as usize];
        let mut best: Option<(usize, u32)> = None;
        for &list in mine.iter().filter(|&&list| list != EMPTY) {
            let (start, count) = &mut self.spans[list as usize];
            let members = &mut self.members[*start as usize..(*start + *count) as usize];
            let (mut at, mut compared) = (0, 0);
            while at < *count as usize && compared < MAX_CANDIDATES {
                let other = members[at];
                if self.placed[other as usize] {
                    // placed members are removed from the list
                    members.swap(at, *count as usize - 1);
                    *count -= 1;
                    continue;
                }
                (at, compared) = (at + 1, compared + 1);
                if std::mem::replace(&mut self.seen[other as usize], rank) == rank {
                    continue;
                }
                let theirs = &sketches[other as usize];
                let score = agreement(mine, theirs);
                let better = best
                    .is_none_or(|(most, least)| score > most || (score == most && other < least));
                if score >= min_agreement && better {
                    best = Some((score, other));
                }
            }
        }
        best
    }
}

fn agreement(a: &Sketch, b: &Sketch) -> usize {
    a.iter()
        .zip(b)
        .filter(|&(a, b)| a == b && *a != EMPTY)
        .count()
}
