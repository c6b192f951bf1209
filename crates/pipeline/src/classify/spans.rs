//! The categories of the parts of a file.
//!
//! **Invariant:** spans are in order and do not overlap; ranges cut by them are whole grains of
//! their category, counted from the beginning of a span; everything else has the category of the
//! rest.

use sinterfs_model::Category;

/// A part of a file with its own category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u64,
    pub end: u64,
    pub category: Category,
}

/// The parts of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Spans {
    spans: Vec<Span>,
    rest: Category,
}

impl Spans {
    /// Creates the spans of a file of one category.
    pub fn whole(category: Category) -> Self {
        Self {
            spans: Vec::new(),
            rest: category,
        }
    }

    /// Creates the spans of a file with parts, in order, and the category of the rest.
    pub fn parts(spans: Vec<Span>, rest: Category) -> Self {
        debug_assert!(spans.iter().is_sorted_by(|a, b| a.end <= b.start));
        Self { spans, rest }
    }

    /// Returns the category that the file is sorted by.
    pub fn main(&self) -> Category {
        self.spans.first().map_or(self.rest, |span| span.category)
    }

    /// Returns the end of a buffer that begins at `start` so that no grain is cut: `end` or less.
    pub fn buffer_end(&self, start: u64, end: u64) -> u64 {
        let inside = |span: &&Span| span.start < end && end < span.end;
        let Some(span) = self.spans.iter().find(inside) else {
            return end;
        };
        let whole = end - (end - span.start) % u64::from(span.category.granularity());
        if whole > start { whole } else { end }
    }

    /// Cuts a range of the file into runs of one category; returns the end and category of each.
    pub fn cut(&self, start: u64, end: u64) -> Vec<(u64, Category)> {
        let mut runs = Vec::new();
        let mut at = start;
        for span in &self.spans {
            let grain = u64::from(span.category.granularity());
            // within the span, whole grains only
            let first = at.max(span.start) - span.start;
            let Some(first) = first.checked_next_multiple_of(grain) else {
                continue;
            };
            let last = end.min(span.end).saturating_sub(span.start);
            let (from, to) = (span.start + first, span.start + last / grain * grain);
            if from >= to {
                continue;
            }
            if at < from {
                runs.push((from, self.rest));
            }
            runs.push((to, span.category));
            at = to;
        }
        if at < end {
            runs.push((end, self.rest));
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{ByteOrder, Padding, Waveform};

    use super::*;

    const WAVE: Category = Category::Waveform(Waveform {
        channels: 2,
        bits: 24,
        bytes: 3,
        order: ByteOrder::Little,
        signed: true,
        padding: Padding::Low,
    });

    #[test]
    fn runs_are_whole_grains() {
        let span = Span {
            start: 44,
            end: 1000,
            category: WAVE,
        };
        let spans = Spans::parts(vec![span], Category::Default);
        assert_eq!(spans.main(), WAVE);
        let rest = Category::Default;
        // 956 bytes are 159 grains and two bytes
        assert_eq!(spans.cut(0, 1200), [(44, rest), (998, WAVE), (1200, rest)]);
        assert_eq!(spans.cut(44, 500), [(500, WAVE)]);
        assert_eq!(spans.cut(44, 501), [(500, WAVE), (501, rest)]);
        assert_eq!(spans.cut(47, 500), [(50, rest), (500, WAVE)]);
        assert_eq!(spans.cut(47, 53), [(53, rest)]);
        assert_eq!(spans.cut(0, 44), [(44, rest)]);
        assert_eq!(spans.cut(1000, 1001), [(1001, rest)]);
        assert_eq!(spans.cut(7, 7), []);
        assert_eq!(spans.buffer_end(0, 501), 500);
        assert_eq!(spans.buffer_end(44, 1000), 1000);
        assert_eq!(spans.buffer_end(0, 1200), 1200);
        // a piece is never empty
        assert_eq!(spans.buffer_end(500, 503), 503);
        assert_eq!(spans.buffer_end(0, 46), 44);
        assert_eq!(spans.buffer_end(44, 46), 46);
    }

    #[test]
    fn several_parts_follow_each_other() {
        let part = |start, end| Span {
            start,
            end,
            category: WAVE,
        };
        let spans = Spans::parts(
            vec![part(6, 12), part(12, 18), part(20, 32)],
            Category::Text,
        );
        let rest = Category::Text;
        let runs = [(6, rest), (12, WAVE), (18, WAVE), (20, rest), (32, WAVE)];
        assert_eq!(spans.cut(0, 32), runs);
        assert_eq!(Spans::whole(rest).cut(3, 9), [(9, rest)]);
    }
}
