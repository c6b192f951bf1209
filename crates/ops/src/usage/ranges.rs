//! Ranges of content, united: how many bytes are left if equal ones count once.
//!
//! **Invariant:** memory depends on the number of distinct ranges, not of references: when the
//! buffer is full, adjacent ranges are merged.

/// Ranges before they are united for the first time.
const ROOM: usize = 1 << 16;

/// Ranges of blocks.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// Block, start, end.
    all: Vec<(u64, u64, u64)>,
    /// The number that was left last time.
    left: usize,
}

impl Ranges {
    /// Adds a range.
    pub(super) fn add(&mut self, block: u64, offset: u64, len: u64) {
        self.all.push((block, offset, offset.saturating_add(len)));
        if self.all.len() >= ROOM.max(self.left.saturating_mul(2)) {
            self.unite();
        }
    }

    fn unite(&mut self) {
        self.all.sort_unstable();
        self.all.dedup_by(|next, kept| {
            let touch = next.0 == kept.0 && next.1 <= kept.2;
            if touch {
                kept.2 = kept.2.max(next.2);
            }
            touch
        });
        self.left = self.all.len();
    }

    /// Returns how many bytes there are.
    pub(super) fn finish(mut self) -> u64 {
        self.unite();
        let lengths = self.all.iter().map(|(_, start, end)| end - start);
        lengths.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_count_once() {
        let mut ranges = Ranges::default();
        for _ in 0..ROOM {
            ranges.add(1, 0, 10);
            ranges.add(1, 5, 10);
            ranges.add(2, 5, 10);
        }
        assert!(ranges.all.len() < ROOM);
        assert_eq!(ranges.finish(), 25);
    }
}
