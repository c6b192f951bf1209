//! Finds differences that continue: tables of numbers that grow evenly.
//!
//! In: content. Out: for a position the longest delta of those that were met last.
//!
//! **Invariant:** what is found depends on the content and the positions that were asked for.

use super::coder::Delta;

/// Bits of the hash of three differences.
const HASH_BITS: u32 = 14;

/// The multiplier of hashes: 2^32 over the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;

/// The shortest delta that is worth its symbol.
pub(super) const MIN_DELTA: usize = 3;

/// The latest positions of differences.
#[derive(Debug)]
pub(super) struct DeltaFinder {
    /// For each power the latest position of a hash, plus one.
    seen: Vec<u32>,
}

impl DeltaFinder {
    pub(super) fn new() -> Self {
        Self {
            seen: vec![0; (Delta::POWERS as usize) << HASH_BITS],
        }
    }

    /// Forgets all positions.
    pub(super) fn start(&mut self) {
        self.seen.fill(0);
    }

    /// Notes a position and returns the longest delta there, of more than `least` and at most
    /// `most` bytes.
    #[inline]
    pub(super) fn find(
        &mut self,
        content: &[u8],
        at: usize,
        (least, most): (usize, usize),
    ) -> Option<(usize, Delta)> {
        let mut best = None;
        let mut longest = least.max(MIN_DELTA - 1);
        for power in 0..Delta::POWERS {
            let span = 1_usize << power;
            let Some(start) = at.checked_sub(span) else {
                break;
            };
            let (Some([a, b, c]), Some([d, e, f])) = (first(content, at), first(content, start))
            else {
                break;
            };
            let steps = [
                a.wrapping_sub(*d),
                b.wrapping_sub(*e),
                c.wrapping_sub(*f),
                0,
            ];
            let word = u32::from_le_bytes(steps);
            // bytes that repeat are matches
            if word == 0 {
                continue;
            }
            let phase = u32::try_from(at & (span - 1)).unwrap_or(0) << 24;
            let hash = (word ^ phase).wrapping_mul(SPREAD) >> (32 - HASH_BITS);
            let now = u32::try_from(at).unwrap_or(u32::MAX - 1) + 1;
            let index = (power << HASH_BITS | hash) as usize;
            let Some(seen) = self.seen.get_mut(index) else {
                continue;
            };
            let before = std::mem::replace(seen, now);
            let back = (now - before) as usize;
            if before == 0 || back & (span - 1) != 0 || back + span > at {
                continue;
            }
            let length = agreement(content, at, (back, span), most);
            if length > longest {
                longest = length;
                let distance = u32::try_from(back >> power).unwrap_or(0);
                best = Some((length, Delta::new(power, distance)));
            }
        }
        best
    }
}

fn first(content: &[u8], at: usize) -> Option<&[u8; 3]> {
    content.get(at..)?.first_chunk()
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

#[inline]
fn agreement(content: &[u8], at: usize, (back, span): (usize, usize), most: usize) -> usize {
    let slice = |before: usize| content.get(at - before..).unwrap_or_default().iter();
    let now = slice(0).zip(slice(span)).take(most);
    let then = slice(back).zip(slice(back + span));
    let same = now
        .zip(then)
        .take_while(|((a, b), (c, d))| a.wrapping_sub(**b) == c.wrapping_sub(**d));
    same.count()
}
