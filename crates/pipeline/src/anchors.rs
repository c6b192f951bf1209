//! Anchors: positions that content itself chooses, and the table of where they were stored.
//!
//! An anchor is a position where the top bits of the 64-byte gear hash are zero, about one in
//! `SPACING`. Readers find the anchors of each piece (`Finder`), many at once; the segment stage
//! alone looks them up. The table keeps for each hash the newest place; older ones fall out.
//! **Invariant:** where anchors are depends on the content alone, from 64 bytes after its start or
//! a hole on; a place found is a hint only: the caller compares bytes.

use crate::gear::roll;

/// About one position in so many is an anchor. Half of the shortest match that is taken (512)
/// would find most; a quarter of it finds nearly all and still costs only one look in 128 bytes.
const SPACING_BITS: u32 = 7;

/// The most entries of a table, of 8 bytes each: above 4 GiB of content anchors get scarcer.
const ENTRIES: u64 = 1 << 25;

/// The least entries of a table.
const FEW_ENTRIES: u64 = 1 << 10;

/// A position of a piece where content may be recognised.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    /// Bytes of the piece up to it.
    pub end: u32,
    /// The gear hash of the 64 bytes before it.
    pub hash: u64,
}

/// How far anchors are apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spacing {
    bits: u32,
}

impl Spacing {
    /// Chooses the spacing for so many bytes of content, so that the table stays within bounds.
    pub fn for_content(bytes: u64) -> Self {
        let wanted = (bytes >> SPACING_BITS).div_ceil(ENTRIES).max(1);
        Self {
            bits: SPACING_BITS + wanted.next_power_of_two().trailing_zeros(),
        }
    }

    /// Returns how many anchors so many bytes have, about.
    fn anchors(self, bytes: u64) -> u64 {
        bytes >> self.bits
    }
}

/// Finds the anchors of one content, piece by piece.
#[derive(Debug)]
pub(crate) struct Finder {
    state: u64,
    mask: u64,
}

impl Finder {
    /// Starts at the beginning of a content.
    pub fn new(spacing: Spacing) -> Self {
        Self {
            state: 0,
            mask: !(u64::MAX >> spacing.bits),
        }
    }

    /// Lists the anchors of the next piece, which is shorter than 4 GiB.
    pub fn find(&mut self, bytes: &[u8]) -> Vec<Anchor> {
        let mut found = Vec::new();
        let (mut state, mask) = (self.state, self.mask);
        for (index, &byte) in bytes.iter().enumerate() {
            state = roll(state, byte);
            if state & mask == 0 {
                found.push(Anchor {
                    end: index as u32 + 1,
                    hash: state,
                });
            }
        }
        self.state = state;
        found
    }

    /// Forgets what came before, at a hole.
    pub fn restart(&mut self) {
        self.state = 0;
    }
}

/// A place in stored content: a block by its number of opening, and an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPosition {
    pub block: u32,
    pub offset: u32,
}

/// The table: 8 bytes an entry, one to two entries for each anchor of the content, so an eighth of
/// it at most and never above 256 MiB.
///
/// An entry is the place after the anchor, as if all blocks stood one after the other (never 0, so
/// 0 is no entry), and a tag of hash bits that the index does not use, which spares most useless
/// comparisons. An empty table is untouched memory.
#[derive(Debug)]
pub(crate) struct Anchors {
    entries: Vec<u64>,
    shift: u32,
    block_bits: u32,
}

/// Bits of an entry that hold the place.
const PLACE_BITS: u32 = 50;

impl Anchors {
    /// Makes a table for so many bytes of content in blocks of `block_size`.
    pub fn new(content: u64, block_size: u32) -> Self {
        let anchors = Spacing::for_content(content).anchors(content);
        let count = anchors.clamp(FEW_ENTRIES, ENTRIES).next_power_of_two();
        Self {
            entries: vec![0; usize::try_from(count).unwrap_or(usize::MAX)],
            shift: 64 - count.trailing_zeros(),
            block_bits: block_size.next_power_of_two().trailing_zeros() + 1,
        }
    }

    /// Returns the bytes of memory that the table for so much content takes.
    pub fn memory(content: u64) -> u64 {
        let anchors = Spacing::for_content(content).anchors(content);
        anchors.clamp(FEW_ENTRIES, ENTRIES).next_power_of_two() * 8
    }

    #[inline]
    fn find(&self, hash: u64) -> (usize, u64) {
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // the index takes the top bits, the tag some right below any index
        let tag = (mixed >> (64 - 25 - (64 - PLACE_BITS))) & ((1 << (64 - PLACE_BITS)) - 1);
        ((mixed >> self.shift) as usize, tag)
    }

    /// Looks an anchor up.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<BlockPosition> {
        let (index, tag) = self.find(hash);
        let entry = self.entries[index];
        let place = entry & ((1 << PLACE_BITS) - 1);
        if place == 0 || entry >> PLACE_BITS != tag {
            return None;
        }
        Some(BlockPosition {
            block: (place >> self.block_bits) as u32,
            offset: (place & ((1 << self.block_bits) - 1)) as u32,
        })
    }

    /// Notes where an anchor was stored; beyond 2^49 bytes of blocks nothing is noted.
    #[inline]
    pub fn put(&mut self, hash: u64, place: BlockPosition) {
        let linear = u64::from(place.block) << self.block_bits | u64::from(place.offset);
        if linear >> PLACE_BITS == 0 {
            let (index, tag) = self.find(hash);
            self.entries[index] = tag << PLACE_BITS | linear;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_matter_and_the_number_is_as_planned() {
        let mut state = 1u64;
        let bytes: Vec<u8> = (0..1 << 20)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let spacing = Spacing::for_content(bytes.len() as u64);
        let whole = Finder::new(spacing).find(&bytes);
        let mut finder = Finder::new(spacing);
        let first = finder.find(&bytes[..1000]);
        let rest = finder.find(&bytes[1000..]);
        assert_eq!(first.len() + rest.len(), whole.len());
        assert!(
            rest.iter()
                .zip(&whole[first.len()..])
                .all(|(a, b)| a.hash == b.hash && a.end + 1000 == b.end)
        );
        assert!((7000..9400).contains(&whole.len()), "{}", whole.len());
    }

    #[test]
    fn more_content_has_scarcer_anchors_and_a_bounded_table() {
        assert_eq!(Spacing::for_content(0).bits, 7);
        assert_eq!(Spacing::for_content(4 << 30).bits, 7);
        assert_eq!(Spacing::for_content((4 << 30) + (1 << 20)).bits, 8);
        assert_eq!(Spacing::for_content(100 << 30).bits, 12);
        assert_eq!(Anchors::memory(100 << 30), 256 << 20);
        assert_eq!(Anchors::memory(1 << 40), 256 << 20);
        assert_eq!(Anchors::memory(0), 8 << 10);
    }

    #[test]
    fn the_table_forgets_but_does_not_mix_up() {
        let mut anchors = Anchors::new(0, 1 << 26);
        let place = BlockPosition {
            block: 70_000,
            offset: 12,
        };
        anchors.put(99, place);
        assert_eq!(anchors.get(99), Some(place));
        assert_eq!(anchors.get(98), None);
        let newer = BlockPosition {
            block: 70_001,
            offset: 1 << 26,
        };
        anchors.put(99, newer);
        assert_eq!(anchors.get(99), Some(newer));
    }
}
