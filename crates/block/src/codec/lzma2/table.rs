//! The match table: for each position of a slice the nearest earlier position with the longest match.
//!
//! In: bytes. Out: a word for each position: 26 bits of an earlier position and 6 bits of length.
//!
//! Positions are first chained by their first two bytes. Each chain is then refined: split by the
//! next bytes, again and again, until the depth is reached. Long chains are split in the table
//! itself, the others are copied to a small buffer ([`super::refine`]), which fits a cache.
//!
//! **Invariants:** a link goes back; the bytes at both ends agree for the length (or more, if the
//! length is the depth). The work is linear in the bytes times the depth, whatever the bytes are.

use super::refine::{Refiner, Suffix};

/// Bits of a link to a position.
const LINK_BITS: u32 = 26;

/// The most bytes that one table covers.
pub(super) const MAX_SLICE: usize = 1 << LINK_BITS;

/// The most that a length in the table can be.
pub(super) const MAX_DEPTH: usize = (1 << (32 - LINK_BITS)) - 1;

/// Chains of more positions than this are split in the table itself.
const BUFFER: usize = 1 << 16;

/// Chains that are too long for the buffer even after so many bytes are cut up.
const LONGEST_CHAIN_PREFIX: usize = 10;

/// A match of the table: a position and a length, or nothing (length 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    pub(super) const NONE: Self = Self(0);

    /// Makes a link; the length is at most [`MAX_DEPTH`].
    #[inline(always)]
    pub(super) fn new(position: u32, length: usize) -> Self {
        Self((length as u32) << LINK_BITS | position)
    }

    /// Gives the word of the table.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(super) fn position(self) -> u32 {
        self.0 & ((1 << LINK_BITS) - 1)
    }

    #[inline(always)]
    pub(super) fn length(self) -> usize {
        (self.0 >> LINK_BITS) as usize
    }

    /// Makes the match no longer than so many bytes.
    #[inline(always)]
    pub(super) fn cut(self, length: usize) -> Self {
        if self.length() <= length {
            self
        } else if length < 2 {
            Self::NONE
        } else {
            Self::new(self.position(), length)
        }
    }
}

/// A chain of positions: its last position and how many there are.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    head: u32,
    count: u32,
}

/// The table, with what is needed to fill it; it may be filled again and again.
#[derive(Debug)]
pub(super) struct MatchTable {
    links: Vec<u32>,
    chains: Vec<Chain>,
    refiner: Refiner,
    /// Chains that wait to be gathered together, with the bytes that agree, and their positions.
    waiting: Vec<(Chain, usize)>,
    waiting_count: usize,
    gathered: Vec<Suffix>,
}

/// Where the gathering of one chain is.
#[derive(Debug, Clone, Copy, Default)]
struct Walk {
    position: u32,
    left: u32,
    agreed: u32,
    to: u32,
}

/// Chains that are walked at the same time.
const WALKS: usize = 16;

impl MatchTable {
    /// Makes an empty table.
    pub(super) fn new() -> Self {
        Self {
            links: Vec::new(),
            chains: vec![Chain::default(); 1 << 16],
            refiner: Refiner::new(),
            waiting: Vec::new(),
            waiting_count: 0,
            gathered: Vec::new(),
        }
    }

    /// Fills the table with matches of up to `depth` bytes (at most [`MAX_DEPTH`]) over at most
    /// `reach` bytes. The slice has at most [`MAX_SLICE`] bytes.
    pub(super) fn fill(&mut self, slice: &[u8], depth: usize, reach: usize) {
        let slice = &slice[..slice.len().min(MAX_SLICE)];
        let depth = depth.clamp(2, MAX_DEPTH);
        self.links.clear();
        self.links.resize(slice.len(), 0);
        self.chain(slice, depth);
        self.refiner.start(depth, reach);
        let chains = std::mem::take(&mut self.chains);
        for &chain in &chains {
            self.refine(slice, chain, 2);
        }
        self.gather(slice);
        self.chains = chains;
    }

    /// Gives the match of a position.
    #[inline(always)]
    pub(super) fn at(&self, position: usize) -> Link {
        Link(self.links[position])
    }

    /// Chains the positions by two bytes. The inside of a run of one byte is left out: there the
    /// match with the byte before is the nearest and as long as the depth.
    fn chain(&mut self, slice: &[u8], depth: usize) {
        self.chains.fill(Chain::default());
        let mut run_end = 0;
        let mut position = 0;
        while position + 1 < slice.len() {
            let pair = [slice[position], slice[position + 1]];
            if pair[0] == pair[1] && position >= run_end {
                let rest = slice[position..].iter();
                run_end = position + rest.take_while(|&&byte| byte == pair[0]).count();
                // the first position is chained as any other, then those near the end
                let inside = position + 1..run_end.saturating_sub(depth).max(position + 1);
                self.link(pair, position);
                for inner in inside.clone() {
                    self.links[inner] = Link::new(inner as u32 - 1, depth).0;
                }
                position = inside.end;
            } else {
                self.link(pair, position);
                position += 1;
            }
        }
    }

    #[inline(always)]
    fn link(&mut self, pair: [u8; 2], position: usize) {
        let chain = &mut self.chains[usize::from(u16::from_le_bytes(pair))];
        if chain.count > 0 {
            self.links[position] = Link::new(chain.head, 2).0;
        }
        chain.head = position as u32;
        chain.count += 1;
    }

    /// Refines a chain of positions that agree in `agreed` bytes.
    fn refine(&mut self, slice: &[u8], chain: Chain, agreed: usize) {
        if chain.count < 2 || agreed >= self.refiner.depth() {
            return;
        }
        let count = chain.count as usize;
        if count <= BUFFER {
            if self.waiting_count + count > BUFFER {
                self.gather(slice);
            }
            self.waiting_count += count;
            self.waiting.push((chain, agreed));
        } else if agreed < LONGEST_CHAIN_PREFIX {
            for chain in self.split(slice, chain, agreed) {
                self.refine(slice, chain, agreed + 1);
            }
        } else {
            self.cut(slice, chain, agreed);
        }
    }

    /// Refines a chain in pieces, which do not see each other.
    fn cut(&mut self, slice: &[u8], mut chain: Chain, agreed: usize) {
        while chain.count > 0 {
            let count = chain.count.min(BUFFER as u32);
            let next = (0..count).fold(chain.head, |position, _| {
                Link(self.links[position as usize]).position()
            });
            self.gather(slice);
            self.waiting.push((Chain { count, ..chain }, agreed));
            self.gather(slice);
            chain = Chain {
                head: next,
                count: chain.count - count,
            };
        }
    }

    /// Copies the waiting chains to the buffer, refines them there and writes their matches back.
    ///
    /// Each step along a chain waits for memory, so many chains are walked at the same time.
    fn gather(&mut self, slice: &[u8]) {
        let total = self
            .waiting
            .iter()
            .map(|(chain, _)| chain.count as usize)
            .sum();
        if self.gathered.len() < total {
            self.gathered.resize(total, Suffix::NOTHING);
        }
        let mut to = 0;
        let mut starts = self.waiting.iter().map(|&(chain, agreed)| {
            let walk = Walk {
                position: chain.head,
                left: chain.count,
                agreed: agreed as u32,
                to,
            };
            to += chain.count;
            walk
        });
        let mut walks = [Walk::default(); WALKS];
        let mut active = 0;
        for (walk, start) in walks.iter_mut().zip(&mut starts) {
            *walk = start;
            active += 1;
        }
        while active > 0 {
            let mut index = 0;
            while index < active {
                let walk = &mut walks[index];
                let position = walk.position;
                let link = Link(self.links[position as usize]);
                self.gathered[walk.to as usize] =
                    Suffix::new(slice, position, link, walk.agreed as usize);
                walk.to += 1;
                walk.left -= 1;
                walk.position = link.position();
                if walk.left == 0 {
                    if let Some(start) = starts.next() {
                        *walk = start;
                    } else {
                        active -= 1;
                        walks.swap(index, active);
                        continue;
                    }
                }
                index += 1;
            }
        }
        let mut rest = &mut self.gathered[..];
        for (chain, agreed) in self.waiting.drain(..) {
            let (part, others) = rest.split_at_mut(chain.count as usize);
            self.refiner.refine(slice, part, agreed, &mut self.links);
            rest = others;
        }
        self.waiting_count = 0;
    }

    /// Splits a chain by the byte after those that agree.
    fn split(&mut self, slice: &[u8], chain: Chain, agreed: usize) -> [Chain; 256] {
        let mut chains = [Chain::default(); 256];
        let mut tails = [0u32; 256];
        let mut position = chain.head;
        for _ in 0..chain.count {
            let next = Link(self.links[position as usize]).position();
            // at the end of the slice any byte will do: matches are cut there
            let byte = slice.get(position as usize + agreed).copied().unwrap_or(0);
            let byte = usize::from(byte);
            let part = &mut chains[byte];
            if part.count == 0 {
                part.head = position;
            } else {
                let tail = tails[byte] as usize;
                self.links[tail] = Link::new(position, agreed + 1).cut(slice.len() - tail).0;
            }
            part.count += 1;
            tails[byte] = position;
            position = next;
        }
        chains
    }
}
