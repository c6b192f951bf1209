//! The latest distances or deltas, which an item can repeat.
//!
//! **Invariant:** the newest is first. An item directly after one that used the queue cannot refer
//! to the newest, which would have made one longer item of the two.

use super::REPEATS;

/// The latest values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recent<T> {
    values: [T; REPEATS + 1],
    /// 1 if the latest item used this queue, else 0.
    skipped: u8,
}

impl<T: Copy> Recent<T> {
    pub(super) const fn new(values: [T; REPEATS + 1]) -> Self {
        Self { values, skipped: 0 }
    }

    /// Takes note of an item that does not use the queue.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.skipped = 0;
    }

    /// Puts a new value first.
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        let [a, b, c, _] = self.values;
        self.values = [value, a, b, c];
        self.skipped = 1;
    }

    /// Returns the newest value.
    #[inline]
    pub(super) fn latest(&self) -> T {
        let [latest, ..] = self.values;
        latest
    }

    /// Returns the values that the next item can refer to.
    #[inline]
    pub(super) fn values(&self) -> [T; REPEATS] {
        let [a, b, c, d] = self.values;
        match self.skipped {
            0 => [a, b, c],
            _ => [b, c, d],
        }
    }

    /// Returns the value that an item refers to by an index below [`REPEATS`], and puts it first.
    #[inline]
    pub(super) fn repeat(&mut self, index: usize) -> T {
        let [a, b, c, d] = self.values;
        self.values = match index + usize::from(self.skipped) {
            0 => [a, b, c, d],
            1 => [b, a, c, d],
            2 => [c, a, b, d],
            _ => [d, a, b, c],
        };
        self.skipped = 1;
        let [first, ..] = self.values;
        first
    }
}
