//! Slots: ranges of distances and lengths with a symbol each; bits after the symbol choose the
//! number in the range.
//!
//! **Invariant:** the ranges follow each other, and the width of each is a power of two, except
//! the slot of the last one of distances.

use std::sync::OnceLock;

use crate::match_finder::MAX_COVER;

/// How many ranges of distances are 2^n wide, for n from 0 on.
const DISTANCE_RUNS: [u8; 21] = [
    9, 0, 9, 7, 10, 15, 15, 20, 20, 30, 33, 40, 42, 45, 60, 73, 80, 85, 95, 105, 6,
];

/// How many ranges of lengths are 2^n wide, for n from 0 on; the last one is 2^30 wide.
const LENGTH_RUNS: [u8; 17] = [27, 4, 6, 4, 5, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1];

/// A range of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// The first number.
    pub(super) base: u32,
    /// The number of bits after the symbol.
    pub(super) bits: u32,
}

/// Returns the slots of distances.
pub(super) fn of_distances() -> &'static [Slot] {
    static SLOTS: OnceLock<Vec<Slot>> = OnceLock::new();
    SLOTS.get_or_init(|| slots(&DISTANCE_RUNS, 0x7fff_ffff))
}

/// Returns the slots of lengths.
pub(super) fn of_lengths() -> &'static [Slot] {
    static SLOTS: OnceLock<Vec<Slot>> = OnceLock::new();
    SLOTS.get_or_init(|| slots(&LENGTH_RUNS, 0x4001_08ab))
}

/// Returns the slot of a number; the first one for 0.
pub(super) fn find(slots: &[Slot], number: u32) -> usize {
    slots
        .partition_point(|slot| slot.base <= number)
        .saturating_sub(1)
}

/// Finds slots of distances by tables.
#[derive(Debug)]
pub(super) struct SlotTable {
    /// The slot of each small distance.
    small: Vec<u16>,
    /// The slot of each multiple of [`SlotTable::STEP`].
    steps: Vec<u16>,
}

impl SlotTable {
    /// Returns the tables of all distances that are encoded, made once.
    pub(super) fn shared() -> &'static Self {
        static TABLE: OnceLock<SlotTable> = OnceLock::new();
        let most = u32::try_from(MAX_COVER).unwrap_or(u32::MAX);
        TABLE.get_or_init(|| Self::new(most))
    }

    /// Slots of distances from [`Self::SMALL`] on are at least this wide.
    const STEP: u32 = 1 << 10;

    /// The first distance that is not small.
    const SMALL: u32 = 1 << 15;

    /// Makes tables for distances below a number.
    fn new(below: u32) -> Self {
        let slot = |distance| u16::try_from(find(of_distances(), distance)).unwrap_or(0);
        Self {
            small: (0..Self::SMALL.min(below)).map(slot).collect(),
            steps: (0..below.div_ceil(Self::STEP))
                .map(|step| slot(step * Self::STEP))
                .collect(),
        }
    }

    /// Returns the slot of a distance.
    #[inline]
    pub(super) fn of(&self, distance: u32) -> usize {
        if let Some(slot) = self.small.get(distance as usize) {
            return usize::from(*slot);
        }
        let step = self.steps.get((distance / Self::STEP) as usize);
        let slot = step.map_or(0, |slot| usize::from(*slot));
        let next = of_distances().get(slot + 1);
        slot + usize::from(next.is_some_and(|next| next.base <= distance))
    }
}

/// Returns how many slots of distances content of `len` bytes uses.
pub(super) fn used_distances(len: usize) -> usize {
    let longest = u32::try_from(len.saturating_sub(1)).unwrap_or(u32::MAX);
    if longest == 0 {
        return 0;
    }
    find(of_distances(), longest) + 1
}

/// Makes slots: the distance from each to the one before comes from `runs`, the end of the last
/// one is given.
fn slots(runs: &[u8], end: u32) -> Vec<Slot> {
    let mut bases = Vec::new();
    let mut base = 0;
    for (order, &count) in (0..).zip(runs) {
        for _ in 0..count {
            base += 1_u32 << order;
            bases.push(base);
        }
    }
    let ends = bases.iter().skip(1).copied().chain([end]);
    let with_ends = bases.iter().zip(ends);
    with_ends
        .map(|(&base, end)| Slot {
            base,
            bits: (end - base).ilog2(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_each_other() {
        for (slots, count) in [(of_distances(), 799), (of_lengths(), 54)] {
            assert_eq!(slots.len(), count);
            for (one, next) in slots.iter().zip(&slots[1..]) {
                assert_eq!(one.base + (1 << one.bits), next.base);
            }
            for (index, slot) in slots.iter().enumerate() {
                assert_eq!(find(slots, slot.base), index);
            }
        }
        let table = SlotTable::new(1 << 26);
        for slot in of_distances().iter().filter(|slot| slot.base < 1 << 26) {
            for distance in [slot.base, slot.base + 1, slot.base + (1 << slot.bits) - 1] {
                if distance < 1 << 26 {
                    let found = find(of_distances(), distance);
                    assert_eq!(table.of(distance), found, "{distance}");
                }
            }
        }
        assert_eq!(used_distances(1), 0);
        assert_eq!(used_distances(2), 1);
        assert_eq!(used_distances(10), 9);
        assert_eq!(used_distances(14), 10);
    }
}
