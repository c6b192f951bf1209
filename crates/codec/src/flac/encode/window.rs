//! Windows: the weights of samples before a predictor is made for them.
//!
//! **Invariant:** made of sums and products only, so that they are the same on every machine; the
//! flanks are the cubic that is nearest to a cosine.

use std::collections::BTreeMap;

/// The part of a window that its flanks take; half of it on each side.
const FLANKS: f64 = 0.5;

/// A window over a part of a frame.
#[derive(Debug)]
pub(super) struct Apodization {
    /// Where it begins.
    pub(super) start: usize,
    /// The weight of each sample from there on.
    pub(super) weights: Vec<f64>,
}

/// The windows for frames of each length: first the whole, then halves, thirds and so on.
#[derive(Debug)]
pub(super) struct Windows {
    parts: usize,
    known: BTreeMap<usize, Vec<Apodization>>,
}

impl Windows {
    /// Makes windows over the whole and over its parts, up to `parts` of them.
    pub(super) fn new(parts: usize) -> Self {
        Self {
            parts,
            known: BTreeMap::new(),
        }
    }

    /// Returns the windows for a frame of `len` samples.
    pub(super) fn of(&mut self, len: usize) -> &[Apodization] {
        let parts = self.parts;
        self.known.entry(len).or_insert_with(|| {
            let cuts =
                |of: usize| (0..of).map(move |part| (len * part / of, len * (part + 1) / of));
            (1..=parts)
                .flat_map(cuts)
                .map(|(start, end)| Apodization {
                    start,
                    weights: taper(end - start),
                })
                .collect()
        })
    }
}

/// Makes a window that is one in the middle and falls to zero at both ends.
fn taper(len: usize) -> Vec<f64> {
    let flank = len as f64 * FLANKS / 2.0;
    (0..len)
        .map(|index| {
            let edge = (index.min(len - 1 - index) as f64 + 0.5) / flank;
            if edge < 1.0 {
                edge * edge * (3.0 - 2.0 * edge)
            } else {
                1.0
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_their_part_and_fall_off_on_both_sides() {
        let mut windows = Windows::new(3);
        let found = windows.of(1000);
        let spans: Vec<_> = found.iter().map(|w| (w.start, w.weights.len())).collect();
        let expected = [
            (0, 1000),
            (0, 500),
            (500, 500),
            (0, 333),
            (333, 333),
            (666, 334),
        ];
        assert_eq!(spans, expected);
        for window in found {
            let weights = &window.weights;
            let mirrored: Vec<f64> = weights.iter().rev().copied().collect();
            assert_eq!(weights, &mirrored);
            assert!(weights[0] > 0.0 && weights[0] < 0.01);
            assert_eq!(weights[weights.len() / 2], 1.0);
        }
        assert_eq!(windows.of(1)[0].weights.len(), 1);
    }
}
