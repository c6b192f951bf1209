//! Sums over blocks or files, and their order in a report.
//!
//! **Invariant:** sums saturate: no image makes them wrap.

/// A sum over blocks or files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sum {
    /// Their common property, for example a codec.
    pub name: Vec<u8>,
    /// The number of entries.
    pub count: u64,
    /// Their bytes in the image.
    pub stored: u64,
    /// Bytes of files that refer to them, or of these files.
    pub content: u64,
}

impl Sum {
    /// Adds to the sum.
    pub(super) fn add(&mut self, count: u64, stored: u64, content: u64) {
        self.count = self.count.saturating_add(count);
        self.stored = self.stored.saturating_add(stored);
        self.content = self.content.saturating_add(content);
    }
}

/// Sorts by stored bytes, largest first.
pub(super) fn largest_first(mut sums: Vec<Sum>) -> Vec<Sum> {
    sums.sort_by(|a, b| (b.stored, b.content, &a.name).cmp(&(a.stored, a.content, &b.name)));
    sums
}
