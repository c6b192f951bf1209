//! Finds matches by binary trees of positions, one for each hash of four bytes, sorted by what
//! follows; matches of two and three bytes by tables of where those were seen last.
//!
//! In: a chunk. Out: the matches of each of its positions.
//!
//! **Invariant:** of the matches at a position each is longer and farther than the one before. A
//! path from a root down leads to ever earlier positions.

use std::ops::Range;

use super::items::{Coder, FoundMatch};

/// How hard matches are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    /// How many earlier positions are compared.
    pub(crate) depth: u32,
    /// A match of this length is taken without a search for others.
    pub(crate) nice: usize,
    /// How many positions in a match that is taken so can be found later.
    pub(crate) noted: usize,
    /// How often the items are chosen by their prices; 0 for the quick parse only.
    pub(crate) passes: u32,
}

/// The most matches of a position, beside those of two and three bytes.
const MOST: usize = 16;

/// Bits of hashes of two, three and four bytes.
const PAIR_BITS: u32 = 12;
const TRIPLE_BITS: u32 = 14;
const QUAD_BITS: u32 = 15;

/// Two bytes are not worth a longer distance than this.
const PAIR_REACH: usize = 1 << 9;

/// The multiplier of hashes: 2^32 over the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;

/// A position in a tree.
trait TreePosition: Copy + PartialEq + Default {
    /// No position.
    const NONE: Self;
    fn new(at: usize) -> Self;
    fn index(self) -> usize;
}

// the last three positions of a chunk are in no tree, so that 64 KiB have no position 65,535
impl TreePosition for u16 {
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn new(at: usize) -> Self {
        at as Self
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.into()
    }
}

impl TreePosition for u32 {
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn new(at: usize) -> Self {
        at as Self
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// The matches of every position of a chunk; keeps its memory between chunks.
#[derive(Debug, Default)]
pub(crate) struct ChunkMatches {
    list: MatchList,
    /// For chunks of up to 64 KiB, and for larger ones.
    near: Trees<u16>,
    far: Trees<u32>,
}

#[derive(Debug, Default)]
struct MatchList {
    /// The matches of all positions, and room for more.
    found: Vec<FoundMatch>,
    count: usize,
    /// Where the matches of each position start in `found`, and their end.
    starts: Vec<u32>,
}

impl MatchList {
    /// Makes room for the matches of the next position.
    #[inline(always)]
    fn reserve(&mut self) {
        if self.found.len() < self.count + MOST + 3 {
            let more = self.count + self.starts.len() + MOST + 3;
            self.found.resize(more, FoundMatch::default());
        }
    }

    /// Adds a match if it is one, without a branch.
    #[inline(always)]
    fn offer(&mut self, found: FoundMatch, is_match: bool) {
        self.found[self.count] = found;
        self.count += usize::from(is_match);
    }

    /// Returns the room after the last match, which must have been reserved.
    #[inline(always)]
    fn room(&mut self) -> Option<MatchRoom<'_>> {
        Some(MatchRoom {
            found: self.found[self.count..].first_chunk_mut()?,
            count: 0,
        })
    }
}

/// Room for the matches that are met in a tree.
struct MatchRoom<'a> {
    found: &'a mut [FoundMatch; MOST + 1],
    count: usize,
}

impl MatchRoom<'_> {
    /// Adds a match if it is one, without a branch; the last takes the place of the one before if
    /// there are too many.
    #[inline(always)]
    fn offer(&mut self, found: FoundMatch, is_match: bool) {
        self.found[self.count] = found;
        self.count += usize::from(is_match);
        if self.count > MOST {
            self.found[MOST - 1] = self.found[MOST];
            self.count = MOST;
        }
    }
}

#[derive(Debug, Default)]
struct Trees<P> {
    /// The last position of each pair of bytes, or 0.
    pairs: Vec<P>,
    /// The last position of each triple of bytes, or 0.
    triples: Vec<P>,
    /// The roots: the last position of each four bytes.
    roots: Vec<P>,
    /// For each position the nearest ones that are followed by smaller and by larger bytes.
    children: Vec<P>,
}

impl ChunkMatches {
    /// Returns the matches at a position.
    #[inline(always)]
    pub(super) fn at(&self, at: usize) -> &[FoundMatch] {
        let MatchList { found, starts, .. } = &self.list;
        &found[starts[at] as usize..starts[at + 1] as usize]
    }

    /// Finds the matches of a chunk.
    pub(crate) fn find<C: Coder>(&mut self, chunk: &[u8], effort: Effort) {
        let list = &mut self.list;
        list.count = 0;
        list.starts.clear();
        list.starts.resize(chunk.len() + 1, 0);
        if chunk.len() <= 1 << 16 {
            self.near.find::<C>(chunk, effort, list);
        } else {
            self.far.find::<C>(chunk, effort, list);
        }
    }
}

/// The trees of a chunk while they grow.
struct Growth<'a, P> {
    chunk: &'a [u8],
    effort: Effort,
    pairs: &'a mut [P; 1 << PAIR_BITS],
    triples: &'a mut [P; 1 << TRIPLE_BITS],
    roots: &'a mut [P; 1 << QUAD_BITS],
    children: &'a mut [P],
}

impl<P: TreePosition> Trees<P> {
    fn find<C: Coder>(&mut self, chunk: &[u8], effort: Effort, list: &mut MatchList) {
        for (table, bits, start) in [
            (&mut self.pairs, PAIR_BITS, P::default()),
            (&mut self.triples, TRIPLE_BITS, P::default()),
            (&mut self.roots, QUAD_BITS, P::NONE),
        ] {
            table.clear();
            table.resize(1 << bits, start);
        }
        // older positions are never looked at
        let places = 2 * chunk.len();
        self.children
            .resize(places.max(self.children.len()), P::NONE);
        let (Some(pairs), Some(triples), Some(roots)) = (
            self.pairs.first_chunk_mut(),
            self.triples.first_chunk_mut(),
            self.roots.first_chunk_mut(),
        ) else {
            return;
        };
        let children = &mut self.children[..places];
        Growth {
            chunk,
            effort,
            pairs,
            triples,
            roots,
            children,
        }
        .find::<C>(list);
    }
}

impl<P: TreePosition> Growth<'_, P> {
    fn find<C: Coder>(&mut self, list: &mut MatchList) {
        let end = self.chunk.len().saturating_sub(3);
        let mut at = 0;
        while at < end {
            list.reserve();
            list.starts[at] = list.count as u32;
            let longest = self.note::<C, true>(at, list);
            at += 1;
            if longest >= self.effort.nice {
                let after = (at - 1 + longest).min(end);
                self.skip::<C>(at..after, list);
                at = after;
            }
        }
        list.starts[end..].fill(list.count as u32);
    }

    /// Goes on without matches.
    #[inline(never)]
    fn skip<C: Coder>(&mut self, range: Range<usize>, list: &mut MatchList) {
        list.reserve();
        list.starts[range.clone()].fill(list.count as u32);
        for at in range.take(self.effort.noted) {
            self.note::<C, false>(at, list);
        }
    }

    /// Notes a position, so that later ones find it; adds its matches if they are wanted, and
    /// returns the length of the longest.
    #[inline(always)]
    fn note<C: Coder, const WANTED: bool>(&mut self, at: usize, list: &mut MatchList) -> usize {
        let chunk = self.chunk;
        let bytes = chunk[at..].first_chunk().copied().unwrap_or_default();
        let quad = u32::from_le_bytes(bytes);
        if C::LEAST == 2 {
            let last = &mut self.pairs[hash(quad << 16, PAIR_BITS)];
            let earlier = std::mem::replace(last, P::new(at)).index();
            if WANTED {
                let (is_match, distance) = agrees(chunk, quad, at, earlier, 2);
                let is_match = is_match & (distance <= PAIR_REACH);
                list.offer(FoundMatch::new::<C>(distance, 2), is_match);
            }
        }
        let last = &mut self.triples[hash(quad << 8, TRIPLE_BITS)];
        let earlier = std::mem::replace(last, P::new(at)).index();
        if WANTED {
            let (is_match, distance) = agrees(chunk, quad, at, earlier, 3);
            list.offer(FoundMatch::new::<C>(distance, 3), is_match);
        }
        let root = &mut self.roots[hash(quad, QUAD_BITS)];
        let root = std::mem::replace(root, P::new(at));
        self.insert::<C, WANTED>(at, root, list)
    }

    /// Makes a position the root of its tree; adds the matches that are met on the way, if they
    /// are wanted, and returns the length of the longest.
    #[inline(always)]
    fn insert<C: Coder, const WANTED: bool>(
        &mut self,
        at: usize,
        mut node: P,
        list: &mut MatchList,
    ) -> usize {
        let (chunk, children) = (self.chunk, &mut *self.children);
        // the free places: of a position with larger, and with smaller bytes
        let mut places = [2 * at + 1, 2 * at];
        let mut lengths = [0, 0];
        let (mut len, mut best) = (0, 3);
        let own = &chunk[at..];
        let own = &own[..own.len().min(C::MOST)];
        let nice = self.effort.nice.min(own.len());
        let Some(mut found) = list.room() else {
            return best;
        };
        for _ in 0..self.effort.depth {
            if node == P::NONE {
                break;
            }
            let earlier = node.index();
            // read before it is known which of them comes next
            let Some(&[smaller, larger]) = children[2 * earlier..].first_chunk() else {
                break;
            };
            let there = &chunk[earlier..][..own.len()];
            let side;
            // the outcome cannot be predicted, so no branch
            (len, side) = order(own, there, len);
            if WANTED {
                let distance = at.wrapping_sub(earlier);
                found.offer(FoundMatch::new::<C>(distance, len), len > best);
            }
            best = best.max(len);
            if len >= nice {
                children[places[1]] = smaller;
                children[places[0]] = larger;
                list.count += found.count;
                return best;
            }
            children[places[usize::from(side)]] = node;
            places[usize::from(side)] = 2 * earlier + usize::from(side);
            node = if side { larger } else { smaller };
            lengths[usize::from(side)] = len;
            len = lengths[0].min(lengths[1]);
        }
        list.count += found.count;
        children[places[0]] = P::NONE;
        children[places[1]] = P::NONE;
        best
    }
}

/// Returns how many bytes of two slices of one length agree, and whether the next one of the second
/// is smaller; so many are known to.
#[inline(always)]
fn order(own: &[u8], there: &[u8], known: usize) -> (usize, bool) {
    let mut same = known;
    while let (Some(x), Some(y)) = (word(own, same), word(there, same)) {
        let differ = x ^ y;
        if differ != 0 {
            let same = same + (differ.trailing_zeros() / 8) as usize;
            return (same, y.swap_bytes() < x.swap_bytes());
        }
        same += 8;
    }
    while same < own.len() && own[same] == there[same] {
        same += 1;
    }
    (same, same < own.len() && there[same] < own[same])
}

#[inline(always)]
fn hash(bytes: u32, bits: u32) -> usize {
    (bytes.wrapping_mul(SPREAD) >> (32 - bits)) as usize
}

/// Returns whether so many bytes agree, but not the next one, and the distance. A longer match is
/// found in the tree.
#[inline(always)]
fn agrees(chunk: &[u8], quad: u32, at: usize, earlier: usize, len: u32) -> (bool, usize) {
    let there = chunk[earlier..].first_chunk().copied().unwrap_or_default();
    let differ = quad ^ u32::from_le_bytes(there);
    let distance = at - earlier;
    let is_match = (differ.trailing_zeros() / 8 == len) & (distance > 0);
    (is_match, distance)
}

/// Returns how many bytes of the first slice agree with those of the second, which is as long or
/// longer; so many are known to.
#[inline(always)]
pub(super) fn agreement(a: &[u8], b: &[u8], known: usize) -> usize {
    let mut same = known;
    while let (Some(x), Some(y)) = (word(a, same), word(b, same)) {
        let differ = x ^ y;
        if differ != 0 {
            return same + (differ.trailing_zeros() / 8) as usize;
        }
        same += 8;
    }
    while same < a.len() && a[same] == b[same] {
        same += 1;
    }
    same
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
