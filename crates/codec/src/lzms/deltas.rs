//! Finds differences that continue: tables of numbers that grow evenly.
//!
//! In: content. Out: for a position a delta of those that were met last, one of four bytes or more
//! if there is one.
//!
//! **Invariant:** the result depends on the content and the requested positions.

use super::coder::Delta;

/// Bits of the hash of three differences.
const HASH_BITS: u32 = 14;

/// The multiplier of hashes: 2^32 over the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;

/// The shortest delta that is worth its symbol.
pub(super) const MIN_DELTA: usize = 3;

/// Where differences were met.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// The position, plus one; 0 for none.
    after: u32,
    /// The first four differences there: most candidates differ in them, and content far before
    /// is in no cache.
    steps: u32,
}

/// The latest positions of differences.
#[derive(Debug)]
pub(super) struct DeltaFinder {
    /// For each power the latest position of a hash.
    seen: Vec<Seen>,
}

impl DeltaFinder {
    pub(super) fn new() -> Self {
        Self {
            seen: vec![Seen::default(); (Delta::POWERS as usize) << HASH_BITS],
        }
    }

    /// Forgets all positions.
    pub(super) fn start(&mut self) {
        self.seen.fill(Seen::default());
    }

    /// Notes a position and returns a delta there, of at most `most` bytes: that of the lowest
    /// power with four bytes or more, else the longest.
    #[inline]
    pub(super) fn find(
        &mut self,
        content: &[u8],
        at: usize,
        most: usize,
    ) -> Option<(usize, Delta)> {
        let mut best = None;
        let mut longest = MIN_DELTA - 1;
        for power in 0..Delta::POWERS {
            let span = 1_usize << power;
            if span > at {
                break;
            }
            let Some(steps) = steps(content, at, span) else {
                break;
            };
            // bytes that repeat are matches
            let Ok(word @ 1..) = u32::try_from(steps & 0xff_ffff) else {
                continue;
            };
            let phase = u32::try_from(at & (span - 1)).unwrap_or(0) << 24;
            let hash = (word ^ phase).wrapping_mul(SPREAD) >> (32 - HASH_BITS);
            let now = Seen {
                after: u32::try_from(at).unwrap_or(u32::MAX - 1) + 1,
                steps: u32::try_from(steps & 0xffff_ffff).unwrap_or(0),
            };
            let index = (power << HASH_BITS | hash) as usize;
            let Some(seen) = self.seen.get_mut(index) else {
                continue;
            };
            let before = std::mem::replace(seen, now);
            let back = (now.after - before.after) as usize;
            if before.after == 0 || back & (span - 1) != 0 || back + span > at {
                continue;
            }
            let first = ((now.steps ^ before.steps).trailing_zeros() / 8) as usize;
            // one of four bytes is taken: whether another one is longer only the content says
            if first <= longest {
                continue;
            }
            let length = match first {
                4.. => agreement(content, at, (back, span), most),
                _ => first.min(most),
            };
            if length > longest {
                longest = length;
                let distance = u32::try_from(back >> power).unwrap_or(0);
                best = Some((length, Delta::new(power, distance)));
            }
        }
        best
    }
}

/// Returns by how much each of 8 bytes differs from the one `span` bytes before it.
#[inline(always)]
fn steps(content: &[u8], at: usize, span: usize) -> Option<u64> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let eight = |at: usize| Some(u64::from_le_bytes(*content.get(at..)?.first_chunk()?));
    let (later, earlier) = (eight(at)?, eight(at.checked_sub(span)?)?);
    // no byte borrows from the next one
    Some(((later | HIGH) - (earlier & !HIGH)) ^ ((later ^ !earlier) & HIGH))
}

/// Returns how many bytes a delta continues, at most `most`.
#[inline]
pub(super) fn length(content: &[u8], at: usize, delta: Delta, most: usize) -> usize {
    let span = 1_usize << delta.power();
    let back = (delta.distance() as usize) << delta.power();
    if back + span > at {
        return 0;
    }
    agreement(content, at, (back, span), most)
}

#[inline(always)]
fn agreement(content: &[u8], at: usize, (back, span): (usize, usize), most: usize) -> usize {
    let mut same = 0;
    while same + 8 <= most {
        let (now, then) = (at + same, at + same - back);
        let (Some(now), Some(then)) = (steps(content, now, span), steps(content, then, span))
        else {
            break;
        };
        let differ = now ^ then;
        if differ != 0 {
            return same + (differ.trailing_zeros() / 8) as usize;
        }
        same += 8;
    }
    let byte = |at: usize| content.get(at).copied().unwrap_or(0);
    let step = |at: usize| byte(at).wrapping_sub(byte(at - span));
    while same < most && step(at + same) == step(at + same - back) {
        same += 1;
    }
    same
}
