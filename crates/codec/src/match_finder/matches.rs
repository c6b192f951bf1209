//! The matches that a parser may choose from at a position.
//!
//! In: the match table, which has the longest match, and small tables of where two, three and four
//! bytes were seen last, which have shorter ones that are nearer. Out: a few matches, each longer
//! and farther than the one before.
//!
//! **Invariant:** every match is of bytes before the position, within the reach, and really agrees.

use std::hint::black_box;
use std::ops::Range;

use super::table::MatchTable;

/// A match: its length, and its distance less one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct Match {
    pub(in super::super) length: usize,
    pub(in super::super) distance: u32,
}

/// Two bytes are not worth a distance (less one) of more than this.
const PAIR_REACH: u32 = 1 << 10;

/// Bits of the hash of three bytes.
const TRIPLE_BITS: u32 = 16;

/// Bits of the hash of four bytes.
const QUAD_BITS: u32 = 17;

/// Positions that are looked up at once, so that what is far apart in memory comes at the same
/// time.
const AHEAD: usize = 16;

/// The multiplier of hashes: 2^32 over the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;

/// How many bytes agree at two positions, of which the first is later; at most `most`.
#[inline(always)]
pub(in super::super) fn agreement(
    block: &[u8],
    later: usize,
    earlier: usize,
    most: usize,
) -> usize {
    extend(block, later, earlier, 0, most)
}

/// As [`agreement`], where the first `known` bytes are known to agree.
#[inline(always)]
pub(in super::super) fn extend(
    block: &[u8],
    later: usize,
    earlier: usize,
    known: usize,
    most: usize,
) -> usize {
    let (Some(a), Some(b)) = (block.get(later..), block.get(earlier..)) else {
        return 0;
    };
    let most = most.min(a.len());
    let (a, b) = (&a[..most], &b[..most]);
    let mut same = known;
    while let (Some(x), Some(y)) = (chunk(a, same), chunk(b, same)) {
        let differ = x ^ y;
        if differ != 0 {
            return same + (differ.trailing_zeros() / 8) as usize;
        }
        same += 8;
    }
    while same < most && a[same] == b[same] {
        same += 1;
    }
    same
}

#[inline(always)]
fn chunk(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*chunk))
}

/// Where the bytes of a position were seen last, plus one.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    pair: u32,
    triple: u32,
    quad: u32,
}

/// Finds the matches of one position after the other, none shorter than `MIN` bytes (2 or 3).
#[derive(Debug)]
pub(in super::super) struct Finder<const MIN: usize> {
    /// The last position of each pair and triple of bytes, plus one.
    pairs: Vec<u32>,
    triples: Vec<u32>,
    /// As well of four bytes, if they are looked for.
    quads: Vec<u32>,
    /// The longest match that the table records.
    depth: usize,
    /// The longest distance.
    reach: u32,
    /// The position of the block where the table starts.
    base: usize,
    /// What was looked up, from a position on.
    seen: [Seen; AHEAD],
    from: usize,
    /// The position after the last one that was noted.
    noted: usize,
    found: [Match; 4],
    count: usize,
}

impl<const MIN: usize> Finder<MIN> {
    /// Makes a finder for matches within a reach.
    pub(in super::super) fn new() -> Self {
        Self {
            pairs: vec![0; if MIN > 2 { 0 } else { 1 << 16 }],
            triples: vec![0; 1 << TRIPLE_BITS],
            quads: Vec::new(),
            depth: 0,
            reach: 0,
            base: 0,
            seen: [Seen::default(); AHEAD],
            from: 0,
            noted: 0,
            found: [Match::default(); 4],
            count: 0,
        }
    }

    /// Starts anew with a table that starts at `base`; says whether to look for the last place of
    /// four bytes, too.
    pub(in super::super) fn start(&mut self, depth: usize, reach: u32, quads: bool, base: usize) {
        self.pairs.fill(0);
        self.triples.fill(0);
        self.quads.clear();
        if quads {
            self.quads.resize(1 << QUAD_BITS, 0);
        }
        self.depth = depth;
        self.reach = reach;
        self.base = base;
        (self.from, self.noted) = (0, 0);
    }

    /// Returns the longest match of the table, of at most `most` bytes.
    #[inline(always)]
    pub(in super::super) fn longest(
        &self,
        block: &[u8],
        table: &MatchTable,
        position: usize,
        most: usize,
    ) -> Match {
        let link = table.at(position - self.base);
        let mut length = link.length().min(most);
        if length < MIN {
            return Match::default();
        }
        let earlier = self.base + link.position() as usize;
        let distance = (position.wrapping_sub(earlier) as u32).wrapping_sub(1);
        if distance >= self.reach {
            return Match::default();
        }
        if length == self.depth {
            length = extend(block, position, earlier, length, most);
        }
        Match { length, distance }
    }

    /// Finds the matches at a position, of at most `most` bytes, and notes its bytes.
    #[inline]
    pub(in super::super) fn find(
        &mut self,
        block: &[u8],
        table: &MatchTable,
        position: usize,
        most: usize,
    ) -> &[Match] {
        if position.wrapping_sub(self.from) >= AHEAD || position >= self.noted {
            self.look_up(block, table, position);
        }
        let seen = self.seen[(position - self.from) & (AHEAD - 1)];
        let longest = self.longest(block, table, position, most);
        self.count = 0;
        let far = match longest.length {
            0 => self.reach,
            _ => longest.distance,
        };
        // what was not seen yet would be before the block
        let now = position as u32;
        let far = far.min(now);
        let pair = now.wrapping_sub(seen.pair);
        if MIN <= 2 && pair < far.min(PAIR_REACH) {
            self.try_near(block, position, pair, most);
        }
        let triple = now.wrapping_sub(seen.triple);
        if triple < far && (MIN > 2 || triple != pair) {
            self.try_near(block, position, triple, most);
        }
        let quad = now.wrapping_sub(seen.quad);
        if quad < far && quad != triple {
            self.try_near(block, position, quad, most);
        }
        self.push(longest);
        self.found.get(..self.count).unwrap_or_default()
    }

    /// Looks the next positions up, and at the bytes that will be compared.
    fn look_up(&mut self, block: &[u8], table: &MatchTable, position: usize) {
        let end = block.len().min(position + AHEAD);
        self.from = position;
        self.noted = end;
        for at in position..end {
            self.seen[at - position] = self.note(block, at);
        }
        for at in position..end {
            let link = table.at(at - self.base);
            let after = self.base + link.position() as usize + link.length();
            let seen = &self.seen[at - position];
            black_box(block.get(after).copied());
            black_box(block.get((seen.triple as usize).wrapping_sub(1)).copied());
            black_box(block.get((seen.quad as usize).wrapping_sub(1)).copied());
        }
    }

    #[inline(always)]
    fn try_near(&mut self, block: &[u8], position: usize, distance: u32, most: usize) {
        let length = agreement(block, position, position - distance as usize - 1, most);
        self.push(Match { length, distance });
    }

    /// Notes where the bytes of some positions are, without looking for matches.
    pub(in super::super) fn skip(&mut self, block: &[u8], positions: Range<usize>) {
        for position in positions.start.max(self.noted)..positions.end {
            self.note(block, position);
        }
        self.noted = self.noted.max(positions.end);
    }

    /// Notes where the bytes of a position are, and returns where they were before.
    #[inline(always)]
    fn note(&mut self, block: &[u8], position: usize) -> Seen {
        let Some(&[a, b, c]) = block.get(position..).and_then(|rest| rest.first_chunk()) else {
            return Seen::default();
        };
        let d = block.get(position + 3).copied().unwrap_or(0);
        let now = (position as u32).wrapping_add(1);
        let pair = u16::from_le_bytes([a, b]);
        let pair = match self.pairs.get_mut(usize::from(pair)) {
            Some(pair) => std::mem::replace(pair, now),
            None => 0,
        };
        let triple = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(SPREAD);
        let triple = &mut self.triples[(triple >> (32 - TRIPLE_BITS)) as usize];
        let triple = std::mem::replace(triple, now);
        let quad = u32::from_le_bytes([a, b, c, d]).wrapping_mul(SPREAD);
        let quad = match self.quads.get_mut((quad >> (32 - QUAD_BITS)) as usize) {
            Some(quad) => std::mem::replace(quad, now),
            None => 0,
        };
        Seen { pair, triple, quad }
    }

    /// Adds a match if it is longer than those before.
    #[inline(always)]
    fn push(&mut self, found: Match) {
        let before = match self.count {
            0 => MIN - 1,
            count => self.found[(count - 1) & 3].length,
        };
        if found.length > before {
            self.found[self.count & 3] = found;
            self.count += 1;
        }
    }
}
