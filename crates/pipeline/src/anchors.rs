//! Anchors: positions that the content itself selects, and the table of where they were stored.
//!
//! An anchor is a position where the top bits of the 64-byte gear hash are zero, on average one in
//! `2^SPACING_BITS`. Readers find the anchors of each buffer (`Finder`), many at once; only the
//! segment stage looks them up. The table keeps the newest position for each hash and overwrites
//! older ones. **Invariant:** anchors depend only on the content, from 64 bytes after its start or
//! a hole on; a position that was found is a hint: the caller compares bytes.

use crate::gear::roll;

/// One position in `2^SPACING_BITS` is an anchor. Half of the shortest far match (512 bytes) would
/// find most matches; a quarter finds nearly all and costs one lookup in 128 bytes.
const SPACING_BITS: u32 = 7;

/// The most entries of a table, of 8 bytes each: above 4 GiB of content anchors get scarcer.
const ENTRIES: u64 = 1 << 25;

/// The least entries of a table.
const FEW_ENTRIES: u64 = 1 << 10;

/// A position in a buffer at which content may be recognised.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    /// The number of bytes of the buffer before it.
    pub end: u32,
    /// The gear hash of the 64 bytes before it.
    pub hash: u64,
}

/// The mean distance of anchors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spacing {
    bits: u32,
}

impl Spacing {
    /// Returns the spacing for content of `bytes` bytes, so that the table stays within bounds.
    pub fn for_content(bytes: u64) -> Self {
        let wanted = (bytes >> SPACING_BITS).div_ceil(ENTRIES).max(1);
        Self {
            bits: SPACING_BITS + wanted.next_power_of_two().trailing_zeros(),
        }
    }

    /// Returns the expected number of anchors in `bytes` bytes.
    fn anchors(self, bytes: u64) -> u64 {
        bytes >> self.bits
    }
}

/// Finds the anchors of one content, buffer by buffer.
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

    /// Returns the anchors of the next buffer, which is shorter than 4 GiB.
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

    /// Resets the hash, at a hole.
    pub fn restart(&mut self) {
        self.state = 0;
    }
}

/// A position in stored content: a block, by order of opening, and an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPosition {
    pub block: u32,
    pub offset: u32,
}

/// The table: 8 bytes an entry, one to two entries for each anchor of the content, so an eighth of
/// it at most and never above 256 MiB.
///
/// An entry is the position after the anchor, as if all blocks were concatenated (never 0, so 0
/// marks an empty entry), and a tag of hash bits that the index does not use, which avoids most
/// useless comparisons. An empty table is untouched memory.
#[derive(Debug)]
pub(crate) struct Anchors {
    entries: Vec<u64>,
    shift: u32,
    block_bits: u32,
}

/// Bits of an entry that hold the position.
const POSITION_BITS: u32 = 50;

impl Anchors {
    /// Creates a table for `content` bytes in blocks of `block_size` bytes.
    pub fn new(content: u64, block_size: u32) -> Self {
        let anchors = Spacing::for_content(content).anchors(content);
        let count = anchors.clamp(FEW_ENTRIES, ENTRIES).next_power_of_two();
        Self {
            entries: vec![0; usize::try_from(count).unwrap_or(usize::MAX)],
            shift: 64 - count.trailing_zeros(),
            block_bits: block_size.next_power_of_two().trailing_zeros() + 1,
        }
    }

    /// Returns the memory in bytes of the table for `content` bytes.
    pub fn memory(content: u64) -> u64 {
        let anchors = Spacing::for_content(content).anchors(content);
        anchors.clamp(FEW_ENTRIES, ENTRIES).next_power_of_two() * 8
    }

    #[inline]
    fn find(&self, hash: u64) -> (usize, u64) {
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // the index takes the top bits, the tag some right below any index
        let tag = (mixed >> (64 - 25 - (64 - POSITION_BITS))) & ((1 << (64 - POSITION_BITS)) - 1);
        ((mixed >> self.shift) as usize, tag)
    }

    /// Returns the newest position of an anchor.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<BlockPosition> {
        let (index, tag) = self.find(hash);
        let entry = self.entries[index];
        let place = entry & ((1 << POSITION_BITS) - 1);
        if place == 0 || entry >> POSITION_BITS != tag {
            return None;
        }
        Some(BlockPosition {
            block: (place >> self.block_bits) as u32,
            offset: (place & ((1 << self.block_bits) - 1)) as u32,
        })
    }

    /// Records where an anchor was stored; nothing is recorded beyond 2^49 bytes of blocks.
    #[inline]
    pub fn put(&mut self, hash: u64, place: BlockPosition) {
        let linear = u64::from(place.block) << self.block_bits | u64::from(place.offset);
        if linear >> POSITION_BITS == 0 {
            let (index, tag) = self.find(hash);
            self.entries[index] = tag << POSITION_BITS | linear;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_do_not_depend_on_buffers_and_have_the_expected_density() {
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
    fn anchors_get_scarcer_with_more_content_and_the_table_is_bounded() {
        assert_eq!(Spacing::for_content(0).bits, 7);
        assert_eq!(Spacing::for_content(4 << 30).bits, 7);
        assert_eq!(Spacing::for_content((4 << 30) + (1 << 20)).bits, 8);
        assert_eq!(Spacing::for_content(100 << 30).bits, 12);
        assert_eq!(Anchors::memory(100 << 30), 256 << 20);
        assert_eq!(Anchors::memory(1 << 40), 256 << 20);
        assert_eq!(Anchors::memory(0), 8 << 10);
    }

    #[test]
    fn the_newest_position_replaces_older_ones() {
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
