//! A link of the match table: an earlier position and a length in one word.
//!
//! **Invariant:** a link of length 0 means that there is no match.

/// Bits of a position.
pub(super) const POSITION_BITS: u32 = 26;

/// The most that a length can be.
pub(super) const MAX_DEPTH: usize = (1 << (32 - POSITION_BITS)) - 1;

/// A match of the table: a position and a length, or nothing (length 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Link(u32);

impl Link {
    pub(super) const NONE: Self = Self(0);

    /// Makes a link; the length is at most [`MAX_DEPTH`].
    #[inline(always)]
    pub(super) fn new(position: u32, length: usize) -> Self {
        Self((length as u32) << POSITION_BITS | position)
    }

    #[inline(always)]
    pub(in super::super) fn position(self) -> u32 {
        self.0 & ((1 << POSITION_BITS) - 1)
    }

    #[inline(always)]
    pub(in super::super) fn length(self) -> usize {
        (self.0 >> POSITION_BITS) as usize
    }

    /// Returns the link that a word of the table holds.
    #[inline(always)]
    pub(super) fn from_word(word: u32) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.0
    }
}
