//! Similarity sketches: 16 minimum hashes of a sample of the 32-byte windows of a file.
//!
//! The expected share of equal values in the sketches of two files is the share of windows that
//! they have in common. The gear hash selects the sample (1 of 16 windows), so the sample moves
//! along with inserted bytes. **Invariant:** the sketch depends only on the bytes, not on how they
//! were cut into reads.

use crate::gear::GEAR;

/// The number of minimum hashes in a sketch.
pub(crate) const VALUES: usize = 16;

/// The value of a slot without any window.
pub(crate) const EMPTY: u32 = u32::MAX;

/// Minimum hashes by slot; `EMPTY` for slots without any window.
pub(crate) type Sketch = [u32; VALUES];

/// The sketch of an empty file.
pub(crate) const NO_SKETCH: Sketch = [EMPTY; VALUES];

/// The hash bits that select a window: 4 bits select 1 of 16, the top ones of a window of 32
/// bytes. 1 of 32 costs as much and orders slightly worse.
const SAMPLE: u32 = 0xf000_0000;

/// Computes a sketch from the bytes of a file, in order.
#[derive(Debug)]
pub(crate) struct Sketcher {
    state: u32,
    sketch: Sketch,
}

impl Sketcher {
    pub(crate) fn new() -> Self {
        Self {
            state: 0,
            sketch: NO_SKETCH,
        }
    }

    /// Adds the next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let mut state = self.state;
        for &byte in bytes {
            // the low half of the table is as random as the whole
            state = (state << 1).wrapping_add(GEAR[usize::from(byte)] as u32);
            if state & SAMPLE == 0 {
                self.note(state);
            }
        }
        self.state = state;
    }

    #[inline]
    fn note(&mut self, state: u32) {
        let mixed = u64::from(state).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed >> 60) as usize;
        let value = (mixed >> 28) as u32;
        if let Some(minimum) = self.sketch.get_mut(place) {
            *minimum = value.min(*minimum);
        }
    }

    /// Returns the sketch.
    pub(crate) fn finish(self) -> Sketch {
        self.sketch
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_testkit::noise;

    use super::*;

    fn sketch(pieces: &[&[u8]]) -> Sketch {
        let mut sketcher = Sketcher::new();
        pieces.iter().for_each(|piece| sketcher.update(piece));
        sketcher.finish()
    }

    fn equal(a: &Sketch, b: &Sketch) -> usize {
        a.iter().zip(b).filter(|(a, b)| a == b).count()
    }

    #[test]
    fn sketches_do_not_depend_on_buffers_and_reflect_similarity() {
        let (a, other) = (noise(1, 100_000), noise(2, 100_000));
        let whole = sketch(&[&a]);
        assert_eq!(whole, sketch(&[&a[..7], &a[7..50_001], &a[50_001..]]));
        assert!(equal(&whole, &sketch(&[&other])) == 0);
        let like = [&a[..40_000], b"inserted", &a[40_000..]].concat();
        assert!(equal(&whole, &sketch(&[&like])) >= 14);
        let half = [&a[..50_000], &other[50_000..]].concat();
        let places = equal(&whole, &sketch(&[&half]));
        assert!((2..14).contains(&places), "{places}");
    }
}
