//! The shortest subframe for the samples of one channel of one frame (RFC 9639, section 9.2).
//!
//! **Invariant:** the computed number of bits is the number that is written; a subframe always
//! exists, since samples can be stored verbatim.

use super::bits::Writer;
use super::effort::Effort;
use super::lpc::{Ladder, MAX_ORDER, Predictor, autocorrelation};
use super::rice::{self, Coding};
use super::window::Windows;

/// A channel as it will be written.
#[derive(Debug)]
pub(super) struct Subframe {
    /// Low bits that are zero in all samples and omitted.
    wasted: u32,
    /// Bits of a sample without those.
    width: u32,
    body: Body,
    /// Bits of the whole subframe.
    pub(super) bits: u64,
}

#[derive(Debug)]
enum Body {
    Constant,
    Verbatim,
    Predicted {
        predictor: Predictor,
        fixed: bool,
        residual: Vec<i32>,
        coding: Coding,
    },
}

/// Searches for subframes; reuses its memory.
#[derive(Debug)]
pub(super) struct Chooser {
    effort: Effort,
    windows: Windows,
    rice: rice::Scratch,
    shifted: Vec<i32>,
    weighted: Vec<f64>,
    residual: Vec<i32>,
}

impl Chooser {
    pub(super) fn new(effort: Effort) -> Self {
        Self {
            effort,
            windows: Windows::new(effort.parts),
            rice: rice::Scratch::default(),
            shifted: Vec::new(),
            weighted: Vec::new(),
            residual: Vec::new(),
        }
    }

    /// Returns the shortest subframe for samples of `width` bits, which are not empty.
    pub(super) fn best(&mut self, samples: &[i32], width: u32) -> Subframe {
        let all = samples.iter().fold(0, |all, &sample| all | sample);
        if samples.iter().all(|&sample| samples[0] == sample) {
            return Subframe {
                wasted: 0,
                width,
                body: Body::Constant,
                bits: 8 + u64::from(width),
            };
        }
        let wasted = all.trailing_zeros();
        let width = width - wasted;
        let mut shifted = std::mem::take(&mut self.shifted);
        shifted.clear();
        shifted.extend(samples.iter().map(|sample| sample >> wasted));
        let mut best = Subframe {
            wasted,
            width,
            body: Body::Verbatim,
            bits: u64::from(8 + wasted) + samples.len() as u64 * u64::from(width),
        };
        self.try_fixed(&shifted, &mut best);
        if self.effort.order > 0 {
            self.try_linear(&shifted, &mut best);
        }
        self.shifted = shifted;
        best
    }

    fn try_fixed(&mut self, samples: &[i32], best: &mut Subframe) {
        let likely = fixed_order(samples);
        let most = 4.min(samples.len() - 1);
        let around = self.effort.around;
        for order in likely.saturating_sub(around)..=(likely + around).min(most) {
            self.consider(samples, &Predictor::fixed(order), true, best);
        }
    }

    fn try_linear(&mut self, samples: &[i32], best: &mut Subframe) {
        let precision = precision(samples.len(), best.width);
        let windows = std::mem::replace(&mut self.windows, Windows::new(0));
        let mut windows = windows;
        for window in windows.of(samples.len()) {
            let part = &samples[window.start..window.start + window.weights.len()];
            if part.len() < 2 {
                continue;
            }
            let most = self.effort.order.min(MAX_ORDER).min(part.len() - 1);
            self.weighted.clear();
            let weigh = |(sample, weight): (&i32, &f64)| f64::from(*sample) * weight;
            self.weighted
                .extend(part.iter().zip(&window.weights).map(weigh));
            let ladder = Ladder::new(&autocorrelation(&self.weighted, most), most);
            let likely = ladder.best_order(part.len(), best.width + precision);
            if likely == 0 {
                continue;
            }
            let first = likely.saturating_sub(self.effort.around).max(1);
            let last = (likely + self.effort.around).min(ladder.orders());
            for order in first..=last {
                if let Some(predictor) = ladder.predictor(order, precision) {
                    self.consider(samples, &predictor, false, best);
                }
            }
        }
        self.windows = windows;
    }

    /// Uses a predictor if it makes a shorter subframe.
    fn consider(
        &mut self,
        samples: &[i32],
        predictor: &Predictor,
        fixed: bool,
        best: &mut Subframe,
    ) {
        if !predictor.residual(samples, best.width, &mut self.residual) {
            return;
        }
        let order = predictor.order as u32;
        let mut head = 8 + best.wasted + order * best.width;
        if !fixed {
            head += 4 + 5 + order * predictor.precision;
        }
        let most = self.effort.partitions;
        let coding = rice::best(&self.residual, predictor.order, most, &mut self.rice);
        let bits = u64::from(head).saturating_add(coding.bits);
        if bits >= best.bits {
            return;
        }
        best.bits = bits;
        let mut kept = match std::mem::replace(&mut best.body, Body::Verbatim) {
            Body::Predicted { residual, .. } => residual,
            Body::Constant | Body::Verbatim => Vec::new(),
        };
        std::mem::swap(&mut kept, &mut self.residual);
        best.body = Body::Predicted {
            predictor: predictor.clone(),
            fixed,
            residual: kept,
            coding,
        };
    }
}

/// Returns the fixed predictor with the smallest residuals.
fn fixed_order(samples: &[i32]) -> usize {
    let mut sums = [0u64; 5];
    let mut last = [0i64; 5];
    for (index, &sample) in samples.iter().enumerate() {
        // differences of differences
        let mut value = i64::from(sample);
        for (order, (sum, last)) in sums.iter_mut().zip(&mut last).enumerate() {
            let next = value.wrapping_sub(*last);
            if index >= 4.max(order) {
                *sum = sum.wrapping_add(value.unsigned_abs());
            }
            *last = value;
            value = next;
        }
    }
    let most = 4.min(samples.len() - 1);
    let order = (0..=most).min_by_key(|&order| (sums[order], order));
    order.unwrap_or(0)
}

/// Returns the bits of a coefficient: more bits shorten residuals and lengthen coefficients.
fn precision(samples: usize, width: u32) -> u32 {
    let long = samples.max(1).ilog2();
    if width > 17 {
        (long + 3).clamp(9, 15)
    } else {
        (long + 1).clamp(7, 13).min(2 + width.max(5))
    }
}

impl Subframe {
    /// Writes the subframe of the samples that it was made for.
    pub(super) fn write(&self, samples: &[i32], out: &mut Writer) {
        let kind = match &self.body {
            Body::Constant => 0,
            Body::Verbatim => 1,
            Body::Predicted {
                predictor, fixed, ..
            } => predictor.order as u64 + if *fixed { 8 } else { 31 },
        };
        out.put(kind << 1 | u64::from(self.wasted > 0), 8);
        if self.wasted > 0 {
            out.unary(self.wasted - 1);
        }
        let plain = |count: usize, out: &mut Writer| {
            for sample in samples.iter().take(count) {
                out.signed(sample >> self.wasted, self.width);
            }
        };
        match &self.body {
            Body::Constant => plain(1, out),
            Body::Verbatim => plain(samples.len(), out),
            Body::Predicted {
                predictor,
                fixed,
                residual,
                coding,
            } => {
                plain(predictor.order, out);
                if !fixed {
                    out.put(u64::from(predictor.precision - 1), 4);
                    out.put(u64::from(predictor.shift), 5);
                    for &coefficient in predictor.coefficients() {
                        out.signed(coefficient.into(), predictor.precision);
                    }
                }
                coding.write(residual, predictor.order, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::bits::Bits;
    use super::super::super::subframe::decode;
    use super::*;

    fn kind_of(samples: &[i32], width: u32, effort: Effort) -> (u64, u64) {
        let subframe = Chooser::new(effort).best(samples, width);
        let mut out = Writer::default();
        subframe.write(samples, &mut out);
        assert_eq!(out.len(), subframe.bits);
        let bytes = out.finish();
        let mut decoded = Vec::new();
        decode(&mut Bits::new(&bytes), samples.len(), width, &mut decoded).unwrap();
        let samples: Vec<i64> = samples.iter().map(|&sample| sample.into()).collect();
        assert_eq!(decoded, samples);
        (u64::from(bytes[0] >> 1), subframe.bits)
    }

    #[test]
    fn every_kind_is_chosen_where_it_is_shortest() {
        let best = Effort::EXHAUSTIVE;
        assert_eq!(kind_of(&[-9; 300], 16, best), (0, 24));
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.cast_signed() >> 16
        };
        let loud: Vec<i32> = (0..256).map(|_| noise()).collect();
        assert_eq!(kind_of(&loud, 16, best).0, 1);
        let steps: Vec<i32> = (0..40i32).map(|i| i * i * 9 - 900).collect();
        assert!((8..=12).contains(&kind_of(&steps, 16, best).0));
        let wave = |i: i32| (f64::from(i) * 0.3).sin() * 9e3 + (f64::from(i) * 0.7).sin() * 5e3;
        let waves: Vec<i32> = (0..4096).map(|i| wave(i) as i32).collect();
        let (kind, bits) = kind_of(&waves, 16, best);
        assert!((32..=63).contains(&kind));
        // with the lowest three bits wasted
        let shifted: Vec<i32> = waves.iter().map(|sample| sample << 3).collect();
        assert_eq!(kind_of(&shifted, 19, best), (kind, bits + 3));
        for effort in Effort::LEVELS {
            assert!(kind_of(&waves, 16, effort).1 >= bits);
            kind_of(&shifted, 32, effort);
            kind_of(
                &[i32::MIN, i32::MAX, 0, 5, i32::MIN, i32::MIN, i32::MAX],
                32,
                effort,
            );
            kind_of(&[5], 8, effort);
            kind_of(&[5, 6], 8, effort);
        }
    }
}
