//! Chooses items: the cheapest path through a block by the prices of a coder.
//!
//! **Invariant:** the items cover the block. Of each position the cheapest way there is known, with
//! the latest distances after it.

use std::ops::Range;

use super::finder::{ChunkMatches, Effort, agreement};
use super::items::{Coder, FoundMatch, Item, REPEATS, Recent};
use super::prices::{PriceTables, ROW};

/// Prices that are added at once. The number of lengths of a match cannot be predicted, so that
/// looking at some too many costs less than a loop for each.
const AT_ONCE: usize = 4;

/// The bits of a way that are its price.
const PRICE: u64 = !0 << 32;

/// Keeps its memory between blocks.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// For each position the price of the cheapest way to it, and its last item in the low half.
    ways: Vec<u64>,
    /// The latest distances at each position.
    recent: Vec<Recent>,
    items: Vec<Item>,
}

impl Parser {
    /// Returns the items for a range of a chunk; `recent` are the latest distances before them.
    pub(crate) fn parse<C: Coder>(
        &mut self,
        chunk: &[u8],
        range: Range<usize>,
        recent: Recent,
        (matches, effort): (&ChunkMatches, Effort),
        prices: &PriceTables,
    ) -> &[Item] {
        let len = range.len();
        self.ways.clear();
        // steps see a whole row of ways after a position
        self.ways.resize(len + 1 + ROW, u64::MAX);
        self.ways[0] = 0;
        let enough = (len + 1).max(self.recent.len());
        self.recent.resize(enough, recent);
        self.recent[0] = recent;
        let mut at = 0;
        while at < len {
            let way = self.ways[at];
            let step = Step {
                chunk: &chunk[..range.end],
                here: range.start + at,
                price: way & PRICE,
                recent: self.settle::<C>(at, Item(way as u32)),
                nice: effort.nice,
                prices,
            };
            at += step.go::<C>(&mut self.ways[at..], matches.at(step.here));
        }
        self.trace::<C>(len);
        &self.items
    }

    /// Returns the latest distances at a position that no better way leads to.
    #[inline(always)]
    fn settle<C: Coder>(&mut self, at: usize, last: Item) -> Recent {
        if !C::HAS_REPEATS || at == 0 {
            return self.recent[0];
        }
        let recent = self.recent[at - last.len::<C>()].after::<C>(last);
        self.recent[at] = recent;
        recent
    }

    /// Collects the items of the cheapest way to the end.
    fn trace<C: Coder>(&mut self, len: usize) {
        self.items.clear();
        let mut at = len;
        while at > 0 {
            let item = Item(self.ways[at] as u32);
            self.items.push(item);
            at -= item.len::<C>();
        }
        self.items.reverse();
    }
}

/// A position, and the cheapest way to it.
struct Step<'a> {
    /// The bytes up to the end of the block.
    chunk: &'a [u8],
    here: usize,
    price: u64,
    recent: Recent,
    nice: usize,
    prices: &'a PriceTables,
}

impl Step<'_> {
    /// Offers the ways on; returns how far to go to the next position.
    #[inline(always)]
    fn go<C: Coder>(&self, ways: &mut [u64], found: &[FoundMatch]) -> usize {
        let (Some(near), Some(literals)) = (
            ways.first_chunk_mut::<ROW>(),
            self.prices.literals.first_chunk::<256>(),
        ) else {
            return 1;
        };
        let literal = self.price + literals[usize::from(self.chunk[self.here])];
        near[1] = near[1].min(literal);
        let mut longest = 0;
        // no distance is valid at the first position
        if C::HAS_REPEATS && self.here > 0 {
            match self.repeats::<C>(near) {
                Ok(len) => longest = len,
                Err(item) => return self.jump::<C>(ways, item),
            }
        }
        let Some(last) = found.last() else { return 1 };
        let room = self.chunk.len() - self.here;
        let len = last.len::<C>().min(room);
        if len >= self.nice {
            return self.jump::<C>(ways, Item::matched::<C>(*last, len));
        }
        // a shorter one hardly ever costs less than the same length of a latest distance
        let mut least = C::LEAST.max(longest + 1);
        for found in found {
            let longest = found.len::<C>().min(room);
            if longest < least {
                continue;
            }
            let number = Item::matched::<C>(*found, 0).number::<C>();
            let mut base = self.price | u64::from(number << C::LENGTH_BITS);
            if C::HAS_REPEATS && number >= 16 {
                base = base.wrapping_add(self.prices.low[number as usize % 8]);
            }
            relax(
                near,
                &self.prices.matches[C::slot(number)],
                base,
                least..=longest,
            );
            least = longest + 1;
        }
        1
    }

    /// Offers matches with the latest distances; returns the length of the longest, or as an error
    /// one that is long enough to be taken without a comparison.
    #[inline(always)]
    fn repeats<C: Coder>(&self, near: &mut [u64; ROW]) -> Result<usize, Item> {
        let (chunk, here) = (self.chunk, self.here);
        let room = chunk.len() - here;
        if room < 2 {
            return Ok(0);
        }
        let distances = self.recent.distances();
        let next = pair(chunk, here);
        let [a, b, c] = distances;
        let agrees = |distance: usize| pair(chunk, here - distance) == next;
        let agree = [agrees(a), agrees(b), agrees(c)];
        if !(agree[0] | agree[1] | agree[2]) {
            return Ok(0);
        }
        let own = &chunk[here..here + room.min(C::MOST)];
        let mut best = 0;
        for index in (0..REPEATS).filter(|index| agree[*index]) {
            let len = agreement(own, &chunk[here - distances[index]..], 2);
            let item = Item::repeated::<C>(index, len);
            if len >= self.nice {
                return Err(item);
            }
            let base = self.price | u64::from(Item::repeated::<C>(index, 0).0);
            relax(near, &self.prices.matches[index], base, 2..=len);
            best = best.max(len);
        }
        Ok(best)
    }

    /// Takes a long match without others beside it, and returns its length.
    fn jump<C: Coder>(&self, ways: &mut [u64], item: Item) -> usize {
        let len = item.len::<C>();
        ways[len] = ways[len].min(self.price | u64::from(item.0));
        len
    }
}

/// Offers a match with each of several lengths.
#[inline(always)]
fn relax(
    ways: &mut [u64; ROW],
    prices: &[u64; ROW],
    base: u64,
    lengths: std::ops::RangeInclusive<usize>,
) {
    let (mut first, longest) = lengths.into_inner();
    while first <= longest && first + AT_ONCE <= ROW {
        for len in first..first + AT_ONCE {
            let way = base.wrapping_add(prices[len]);
            let way = if len <= longest { way } else { u64::MAX };
            ways[len] = ways[len].min(way);
        }
        first += AT_ONCE;
    }
}

#[inline(always)]
fn pair(chunk: &[u8], at: usize) -> u16 {
    let bytes = chunk[at..].first_chunk();
    bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
}
