//! Items of a stream, and the latest distances that they can repeat.
//!
//! **Invariant:** an item has a length from 1 on; the length 1 stands for a literal.

/// The items that a coder has.
pub(crate) trait Coder {
    /// Whether the first slots stand for the latest [`REPEATS`] distances.
    const HAS_REPEATS: bool;
    /// The shortest match in bytes: 2 or 3.
    const LEAST: usize;
    /// The longest match in bytes.
    const MOST: usize;
    /// Bits of an item that its length takes.
    const LENGTH_BITS: u32;
    /// Returns the slot of the number of a distance.
    fn slot(number: u32) -> usize;
}

/// How many of the latest distances an item can repeat.
pub(crate) const REPEATS: usize = 3;

/// An item: its length, and above that the byte of a literal or the number of a match.
///
/// If the latest distances have slots, the numbers from 0 to 2 stand for them, and other distances
/// have their value plus 2 as their number, as LZX stores them; if not, their value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item(pub(super) u32);

impl Item {
    #[inline(always)]
    pub(super) fn literal<C: Coder>(byte: u8) -> Self {
        Self((u32::from(byte) << C::LENGTH_BITS) | 1)
    }

    /// Makes the item of a match with a distance that is not repeated.
    #[inline(always)]
    pub(super) fn matched<C: Coder>(found: FoundMatch, len: usize) -> Self {
        let number = found.distance::<C>() + if C::HAS_REPEATS { 2 } else { 0 };
        Self((number << C::LENGTH_BITS) | len as u32)
    }

    /// Makes the item of a match with one of the latest distances.
    #[inline(always)]
    pub(super) fn repeated<C: Coder>(index: usize, len: usize) -> Self {
        Self(((index as u32) << C::LENGTH_BITS) | len as u32)
    }

    /// Returns the bytes that it stands for.
    #[inline(always)]
    pub(crate) fn len<C: Coder>(self) -> usize {
        (self.0 & ((1 << C::LENGTH_BITS) - 1)) as usize
    }

    /// Returns whether it is a literal, whose number is its byte.
    #[inline(always)]
    pub(crate) fn is_literal<C: Coder>(self) -> bool {
        self.len::<C>() == 1
    }

    #[inline(always)]
    pub(crate) fn number<C: Coder>(self) -> u32 {
        self.0 >> C::LENGTH_BITS
    }
}

/// A match at a position: its length, and above that its distance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FoundMatch(u32);

impl FoundMatch {
    #[inline(always)]
    pub(super) fn new<C: Coder>(distance: usize, len: usize) -> Self {
        Self(((distance << C::LENGTH_BITS) | len) as u32)
    }

    #[inline(always)]
    pub(super) fn len<C: Coder>(self) -> usize {
        Item(self.0).len::<C>()
    }

    #[inline(always)]
    pub(super) fn distance<C: Coder>(self) -> u32 {
        Item(self.0).number::<C>()
    }
}

/// The latest distances, of 21 bits each, the newest in the lowest ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Recent(u64);

const BITS: u32 = 21;
const MASK: u64 = (1 << BITS) - 1;

impl Recent {
    /// The distances at the start of a chunk.
    pub(crate) const START: Self = Self(1 | (1 << BITS) | (1 << (2 * BITS)));

    #[inline(always)]
    pub(super) fn distances(self) -> [usize; REPEATS] {
        let of = |bits: u64| (bits & MASK) as usize;
        [of(self.0), of(self.0 >> BITS), of(self.0 >> (2 * BITS))]
    }

    /// Returns the latest distances after an item: one that is repeated changes places with the
    /// newest.
    #[inline(always)]
    pub(crate) fn after<C: Coder>(self, item: Item) -> Self {
        if item.is_literal::<C>() {
            return self;
        }
        let [a, b, c] = [self.0 & MASK, self.0 >> BITS & MASK, self.0 >> (2 * BITS)];
        let of = |a: u64, b: u64, c: u64| Self(a | (b << BITS) | (c << (2 * BITS)));
        match item.number::<C>() {
            0 => self,
            1 => of(b, a, c),
            2 => of(c, b, a),
            number => of((number - 2).into(), a, b),
        }
    }
}
