//! The recent offsets (RFC 8878, section 3.1.1.5), which later sequences name by a number.
//!
//! **Invariant:** an offset of 0 is not known yet, and no sequence has it.

/// The first value of an offset that is not one of the recent ones, less that offset.
const RECENT: u32 = 3;

/// The last three offsets, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecentOffsets([u32; 3]);

impl RecentOffsets {
    /// What a frame starts with.
    pub(super) const START: Self = Self([1, 4, 8]);

    /// What a slice starts with that does not know how the one before it ends.
    pub(super) const UNKNOWN: Self = Self([0; 3]);

    /// Returns the offsets that the values 1 to 3 mean; 0 where there is none. They mean others
    /// when the sequence has no literals.
    #[inline(always)]
    pub(super) fn meanings(self, has_literals: bool) -> [u32; 3] {
        let [first, second, third] = self.0;
        if has_literals {
            self.0
        } else {
            [second, third, first.saturating_sub(1)]
        }
    }

    /// Returns the value by which a sequence names an offset, and notes the offset.
    #[inline(always)]
    pub(super) fn name(&mut self, offset: u32, has_literals: bool) -> u32 {
        let [first, second, third] = self.0;
        let value = match self
            .meanings(has_literals)
            .iter()
            .position(|&known| known == offset)
        {
            Some(index) => index as u32 + 1,
            None => offset.wrapping_add(RECENT),
        };
        self.0 = match value + u32::from(!has_literals) {
            1 => [first, second, third],
            2 => [second, first, third],
            _ => [offset, first, second],
        };
        value
    }
}

/// Returns the value of an offset that is not one of the recent ones.
#[inline(always)]
pub(super) fn value_of(offset: u32) -> u32 {
    offset.wrapping_add(RECENT)
}
