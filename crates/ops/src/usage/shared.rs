//! Ranges of content that several places refer to.
//!
//! **Invariant:** memory depends on the number of distinct ranges, not of references: when the
//! buffer is full, ranges are merged into those with one reference and those with more.

/// Ranges before they are merged for the first time.
const ROOM: usize = 1 << 16;

/// A range of a block: block, start, end.
type Range = (u64, u64, u64);

/// Ranges with the number of references to them, as one or several.
#[derive(Debug, Default)]
pub(super) struct SharedRanges {
    new: Vec<Range>,
    once: Vec<Range>,
    several: Vec<Range>,
}

impl SharedRanges {
    /// Adds a reference to a range.
    pub(super) fn add(&mut self, block: u64, offset: u64, len: u64) {
        let end = offset.saturating_add(len);
        if end > offset {
            self.new.push((block, offset, end));
        }
        let kept = self.once.len() + self.several.len();
        if self.new.len() >= ROOM.max(kept) {
            self.merge();
        }
    }

    /// Ends the additions; needed before [`Self::within`].
    pub(super) fn finish(&mut self) {
        self.merge();
        self.once = Vec::new();
    }

    /// Returns how many bytes of a range have several references.
    pub(super) fn within(&self, block: u64, offset: u64, len: u64) -> u64 {
        let end = offset.saturating_add(len);
        let first = self
            .several
            .partition_point(|range| (range.0, range.2) <= (block, offset));
        let inside = self.several.get(first..).unwrap_or_default().iter();
        let inside = inside.take_while(|range| range.0 == block && range.1 < end);
        let bytes = inside.map(|range| range.2.min(end) - range.1.max(offset));
        bytes.fold(0, u64::saturating_add)
    }

    fn merge(&mut self) {
        // the starts and ends of references; ranges with several references count twice
        let mut events: Vec<(u64, u64, i64)> = Vec::new();
        let lists = [(&self.new, 1), (&self.once, 1), (&self.several, 2)];
        for (list, weight) in lists {
            for &(block, start, end) in list {
                events.push((block, start, weight));
                events.push((block, end, -weight));
            }
        }
        events.sort_unstable();
        self.new.clear();
        self.once.clear();
        self.several.clear();
        let (mut count, mut before) = (0_i64, (0, 0));
        for (block, at, change) in events {
            if count > 0 && before.1 < at {
                let list = if count == 1 {
                    &mut self.once
                } else {
                    &mut self.several
                };
                push(list, (block, before.1, at));
            }
            count += change;
            before = (block, at);
        }
    }
}

/// Adds a range after all others; adjacent ranges become one.
fn push(list: &mut Vec<Range>, range: Range) {
    match list.last_mut() {
        Some(last) if last.0 == range.0 && last.2 == range.1 => last.2 = range.2,
        _ => list.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_with_several_references_are_found() {
        let mut ranges = SharedRanges::default();
        ranges.add(1, 0, 100);
        ranges.add(1, 50, 100);
        ranges.add(2, 0, 10);
        ranges.merge();
        ranges.add(2, 5, 1);
        ranges.add(1, 140, 20);
        ranges.finish();
        assert_eq!(ranges.within(1, 0, 100), 50);
        assert_eq!(ranges.within(1, 60, 100), 50);
        assert_eq!(ranges.within(2, 0, 10), 1);
        assert_eq!(ranges.within(3, 0, 10), 0);
    }
}
