//! Finds where bytes were stored before: anchors of stored bytes in a bounded table.
//!
//! An anchor is a position where the top bits of the 64-byte gear hash are zero, about one in
//! `SPACING`. The table keeps for each hash the newest place; older ones fall out.
//! **Invariant:** a place found is a hint only: the caller compares bytes.

/// About one position in so many is an anchor. Half of the shortest match that is taken (512)
/// would find most; a quarter of it finds nearly all and still costs only one look in 128 bytes.
pub(crate) const SPACING: usize = 128;

/// The bits of the hash that make an anchor when they are zero: the top 7.
const ANCHOR: u64 = 0xfe00_0000_0000_0000;

/// Tells whether the state of the gear hash marks an anchor.
#[inline(always)]
pub(crate) fn is_anchor(state: u64) -> bool {
    state & ANCHOR == 0
}

/// A place in stored content: a block by its number of opening, and the offset after the anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub block: u32,
    pub offset: u32,
}

/// A place with bits of its hash, packed so that an empty table is untouched memory: the offset
/// after the anchor (never 0, so 0 is no entry), the low bits of the block's number (blocks so far
/// back are long out of the window), and a tag of hash bits that the index does not use, to spare
/// most useless comparisons.
#[derive(Debug, Clone, Copy)]
struct Entry {
    offset: u32,
    block: u16,
    tag: u16,
}

impl Entry {
    fn pack(self) -> u64 {
        u64::from(self.offset) << 32 | u64::from(self.block) << 16 | u64::from(self.tag)
    }

    fn unpack(packed: u64) -> Self {
        Self {
            offset: (packed >> 32) as u32,
            block: (packed >> 16) as u16,
            tag: packed as u16,
        }
    }
}

/// The table of anchors: 8 bytes an entry, two to four entries for each anchor of the window, so
/// an eighth to a quarter of the window.
#[derive(Debug)]
pub(crate) struct Anchors {
    entries: Vec<u64>,
    shift: u32,
}

impl Anchors {
    /// Makes a table for the anchors of so many bytes.
    pub fn new(window: u64) -> Self {
        let anchors = window / SPACING as u64;
        let count = (anchors * 2).clamp(1 << 10, 1 << 28).next_power_of_two();
        let entries = vec![0; usize::try_from(count).unwrap_or(1 << 28)];
        Self {
            entries,
            shift: 64 - count.trailing_zeros(),
        }
    }

    #[inline]
    fn find(&self, state: u64) -> (usize, u16) {
        let mixed = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> self.shift) as usize, (mixed >> 16) as u16)
    }

    /// Looks an anchor up; `newest` is the highest number of a block.
    #[inline]
    pub fn get(&self, state: u64, newest: u32) -> Option<Place> {
        let (index, tag) = self.find(state);
        let entry = Entry::unpack(self.entries[index]);
        if entry.offset == 0 || entry.tag != tag {
            return None;
        }
        let back = u32::from((newest as u16).wrapping_sub(entry.block));
        Some(Place {
            block: newest.checked_sub(back)?,
            offset: entry.offset,
        })
    }

    /// Notes where an anchor was stored.
    #[inline]
    pub fn put(&mut self, state: u64, place: Place) {
        let (index, tag) = self.find(state);
        let entry = Entry {
            offset: place.offset,
            block: place.block as u16,
            tag,
        };
        self.entries[index] = entry.pack();
    }
}

/// Counts the bytes that two slices have in common at their beginnings.
#[inline]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let chunks = a.chunks_exact(32).zip(b.chunks_exact(32));
    let done = chunks.take_while(|(a, b)| a == b).count() * 32;
    done + a[done..]
        .iter()
        .zip(&b[done..])
        .take_while(|(a, b)| a == b)
        .count()
}

/// Counts the bytes that two slices have in common at their ends.
#[inline]
pub(crate) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[a.len() - len..], &b[b.len() - len..]);
    let chunks = a.rchunks_exact(32).zip(b.rchunks_exact(32));
    let done = chunks.take_while(|(a, b)| a == b).count() * 32;
    let rest = a[..len - done]
        .iter()
        .rev()
        .zip(b[..len - done].iter().rev());
    done + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_parts_are_counted_to_the_byte() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let a: Vec<u8> = (0..100).collect();
            let mut b = a.clone();
            if len < 100 {
                b[len] ^= 1;
            }
            assert_eq!(common_prefix(&a, &b), len);
            let (a, b): (Vec<_>, Vec<_>) =
                (a.into_iter().rev().collect(), b.into_iter().rev().collect());
            assert_eq!(common_suffix(&a, &b), len);
            assert_eq!(common_suffix(&a[50..], &b), len.min(50));
        }
    }

    #[test]
    fn the_table_forgets_but_does_not_mix_up() {
        let mut anchors = Anchors::new(0);
        let place = Place {
            block: 70_000,
            offset: 12,
        };
        anchors.put(99, place);
        assert_eq!(anchors.get(99, 70_003), Some(place));
        assert_eq!(anchors.get(98, 70_003), None);
        anchors.put(
            99,
            Place {
                block: 70_001,
                offset: 13,
            },
        );
        assert_eq!(
            anchors.get(99, 70_003),
            Some(Place {
                block: 70_001,
                offset: 13
            })
        );
        assert_eq!(anchors.get(99, 5), None);
    }
}
