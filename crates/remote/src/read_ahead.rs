//! Predicts the bytes that are read next: the bytes after sequential reads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::plan;

/// A read that begins at most this far after the end of the last one follows it.
const NEAR: u64 = 256 << 10;

/// The first window; each one that is reached doubles it, up to the largest.
const SMALLEST: u64 = 512 << 10;
const LARGEST: u64 = 16 << 20;

/// Sequences that are followed at once: threads read files in several places.
const SEQUENCES: usize = 8;

/// Sequences of reads.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead(Mutex<Vec<ReadRun>>);

#[derive(Debug, Clone, Copy)]
struct ReadRun {
    /// The end of the last read.
    end: u64,
    /// The end of the requested bytes.
    asked: u64,
    window: u64,
}

impl ReadAhead {
    /// Notes a read, and returns the bytes to fetch ahead; empty for a read that follows none.
    pub(crate) fn after(&self, read: &Range<u64>) -> Range<u64> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let follows = |one: &ReadRun| {
            read.start >= one.end.saturating_sub(NEAR) && read.start <= one.end.saturating_add(NEAR)
        };
        let Some(at) = all.iter().position(follows) else {
            if all.len() >= SEQUENCES {
                all.remove(0);
            }
            all.push(ReadRun {
                end: read.end,
                asked: read.end,
                window: 0,
            });
            return 0..0;
        };
        // the one that is used is the last to go
        let mut one = all.remove(at);
        if plan::leaves(&(0..read.end)).end <= plan::leaves(&(0..one.end)).end {
            // it asks for nothing new, as when headers are looked at
            all.push(one);
            return 0..0;
        }
        one.end = one.end.max(read.end);
        one.asked = one.asked.max(one.end);
        let mut ahead = 0..0;
        if one.asked - one.end <= one.window / 2 {
            one.window = one.window.saturating_mul(2).clamp(SMALLEST, LARGEST);
            ahead = one.asked..one.end.saturating_add(one.window);
            one.asked = ahead.end;
        }
        all.push(one);
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_sequence_are_anticipated() {
        let ahead = ReadAhead::default();
        assert!(ahead.after(&(0..4096)).is_empty());
        // within what the first one fetched
        assert!(ahead.after(&(4096..8192)).is_empty());
        let second = plan::LEAF + 8192;
        assert_eq!(ahead.after(&(8192..second)), second..second + SMALLEST);
        // half of it is read: the next window is asked for
        let half = second + SMALLEST / 2;
        let next = ahead.after(&(second..half));
        assert_eq!(next, second + SMALLEST..half + 2 * SMALLEST);
        // a read elsewhere anticipates nothing and disturbs nothing
        assert!(ahead.after(&(1 << 30..(1 << 30) + 4096)).is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let ahead = ReadAhead::default();
        for number in 0..1000 {
            assert!(ahead.after(&(number << 30..(number << 30) + 1)).is_empty());
        }
        assert_eq!(ahead.0.lock().unwrap().len(), SEQUENCES);
    }
}
