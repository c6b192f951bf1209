//! Requests for recorded leaves that were not made yet.
//!
//! In: ranges of leaves, in the order in which they are to be fetched. Out: the next one, or those
//! that have a leaf that somebody waits for, before their turn. **Invariant:** each comes out once.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ranges of leaves to fetch.
#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<VecDeque<Range<u64>>>);

impl Queue {
    /// Adds ranges at the end.
    pub(crate) fn extend(&self, ranges: Vec<Range<u64>>) {
        self.ranges().extend(ranges);
    }

    /// Takes the next range.
    pub(crate) fn next(&self) -> Option<Range<u64>> {
        self.ranges().pop_front()
    }

    /// Takes the ranges that have some of these leaves, which ascend.
    pub(crate) fn take_with(&self, leaves: &[u64]) -> Vec<Range<u64>> {
        let has_some = |range: &Range<u64>| {
            let at = leaves.partition_point(|leaf| *leaf < range.start);
            leaves.get(at).is_some_and(|leaf| *leaf < range.end)
        };
        let mut taken = Vec::new();
        self.ranges().retain(|range| {
            let is_taken = has_some(range);
            if is_taken {
                taken.push(range.clone());
            }
            !is_taken
        });
        taken
    }

    fn ranges(&self) -> MutexGuard<'_, VecDeque<Range<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn awaited_requests_come_first() {
        let queue = Queue::default();
        queue.extend(vec![40..50, 0..9, 20..30, 60..61]);
        assert!(queue.take_with(&[10, 19, 30, 59, 61]).is_empty());
        assert_eq!(queue.take_with(&[8, 9, 25]), [0..9, 20..30]);
        assert!(queue.take_with(&[8, 25]).is_empty());
        assert_eq!(queue.next(), Some(40..50));
        assert_eq!(queue.next(), Some(60..61));
        assert_eq!(queue.next(), None);
    }
}
