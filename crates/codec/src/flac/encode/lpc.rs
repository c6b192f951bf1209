//! Linear prediction: predictors for samples, and their residuals.
//!
//! In: samples. Out: predictors of every order with integer coefficients, and residuals.
//!
//! **Invariant:** a residual that does not fit 32 bits is reported, never wrapped.

/// The most coefficients of a predictor.
pub(super) const MAX_ORDER: usize = 32;

/// Integer coefficients, in the order from the last sample back.
#[derive(Debug, Clone)]
pub(super) struct Predictor {
    coefficients: [i16; MAX_ORDER],
    /// The number of coefficients.
    pub(super) order: usize,
    /// The sum is shifted right by this number of bits.
    pub(super) shift: u32,
    /// Bits of a coefficient.
    pub(super) precision: u32,
}

/// The predictors of RFC 9639 that need no coefficients in the stream.
const FIXED: [&[i16]; 5] = [&[], &[1], &[2, -1], &[3, -3, 1], &[4, -6, 4, -1]];

impl Predictor {
    /// Returns a fixed predictor, of order 0 to 4.
    pub(super) fn fixed(order: usize) -> Self {
        let mut coefficients = [0; MAX_ORDER];
        for (to, from) in coefficients.iter_mut().zip(FIXED[order]) {
            *to = *from;
        }
        Self {
            coefficients,
            order,
            shift: 0,
            precision: 4,
        }
    }

    /// Returns the coefficients.
    pub(super) fn coefficients(&self) -> &[i16] {
        &self.coefficients[..self.order]
    }

    /// Rounds to integer coefficients of `precision` bits, 16 at most; `None` if they are out of
    /// range.
    fn quantized(exact: &[f64], precision: u32) -> Option<Self> {
        let largest = exact.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
        if !(largest > 0.0 && largest < 1e6) {
            return None;
        }
        let limit = (1i64 << (precision - 1)) - 1;
        // the largest shift with which all coefficients fit
        let mut shift = 15u32;
        while shift > 0 && largest * f64::from(1u32 << shift) > limit as f64 {
            shift -= 1;
        }
        let scale = f64::from(1u32 << shift);
        let mut coefficients = [0; MAX_ORDER];
        let mut left = 0.0;
        for (to, from) in coefficients.iter_mut().zip(exact) {
            // the rounding error is added to the next one
            let wanted = from * scale + left;
            let whole = wanted.round().clamp(-limit as f64, limit as f64);
            left = wanted - whole;
            *to = whole as i16;
        }
        let order = exact.len();
        (coefficients != [0; MAX_ORDER]).then_some(Self {
            coefficients,
            order,
            shift,
            precision,
        })
    }

    /// Computes the residuals of samples of `width` bits; returns `false` if one does not fit.
    pub(super) fn residual(&self, samples: &[i32], width: u32, residual: &mut Vec<i32>) -> bool {
        macro_rules! by_order {
            ($($order:literal)*) => {
                match self.order {
                    $($order => self.residual_of::<$order>(samples, width, residual),)*
                    _ => self.residual_of_any(samples, residual),
                }
            };
        }
        residual.clear();
        by_order!(0 1 2 3 4 5 6 7 8 9 10 11 12)
    }

    fn residual_of<const N: usize>(&self, samples: &[i32], width: u32, to: &mut Vec<i32>) -> bool {
        let mut factors: [i32; N] = std::array::from_fn(|index| self.coefficients[index].into());
        // in the order of the samples
        factors.reverse();
        let sum: u64 = factors
            .iter()
            .map(|factor| u64::from(factor.unsigned_abs()))
            .sum();
        let places = samples.array_windows_or_all::<N>();
        if width < 32 && sum << (width - 1) <= 1 << 30 {
            // neither a sum nor a residual can exceed 32 bits
            to.extend(places.map(|(past, sample)| {
                let sum = past
                    .iter()
                    .zip(&factors)
                    .fold(0i32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)));
                sample.wrapping_sub(sum >> self.shift)
            }));
            return true;
        }
        let mut fit = true;
        to.extend(places.map(|(past, sample)| {
            let sum = past.iter().zip(&factors).fold(0i64, |sum, (a, b)| {
                sum.wrapping_add(i64::from(*a).wrapping_mul(i64::from(*b)))
            });
            let left = i64::from(sample).wrapping_sub(sum >> self.shift);
            fit &= left.unsigned_abs() < 1 << 31;
            left as i32
        }));
        fit
    }

    fn residual_of_any(&self, samples: &[i32], residual: &mut Vec<i32>) -> bool {
        let mut fit = true;
        residual.extend((self.order..samples.len()).map(|index| {
            let past = samples[..index].iter().rev();
            let sum: i64 = past
                .zip(self.coefficients())
                .map(|(a, b)| i64::from(*a).wrapping_mul(i64::from(*b)))
                .sum();
            let left = i64::from(samples[index]).wrapping_sub(sum >> self.shift);
            fit &= left.unsigned_abs() < 1 << 31;
            left as i32
        }));
        fit
    }
}

/// Windows of samples: each sample with the `N` before it.
trait Places {
    fn array_windows_or_all<const N: usize>(&self) -> impl Iterator<Item = (&[i32; N], i32)>;
}

impl Places for [i32] {
    fn array_windows_or_all<const N: usize>(&self) -> impl Iterator<Item = (&[i32; N], i32)> {
        let samples = self.get(N..).unwrap_or_default().iter().copied();
        let past = (0..samples.len()).filter_map(|index| self[index..].first_chunk::<N>());
        past.zip(samples)
    }
}

/// Sums of products of samples with those `lag` before them, for each lag.
pub(super) type Autocorrelation = [f64; MAX_ORDER + 1];

/// Computes the autocorrelation of weighted samples up to a lag.
pub(super) fn autocorrelation(weighted: &[f64], most: usize) -> Autocorrelation {
    if most < 16 {
        correlate::<16>(weighted)
    } else {
        correlate::<{ MAX_ORDER + 1 }>(weighted)
    }
}

fn correlate<const LAGS: usize>(weighted: &[f64]) -> Autocorrelation {
    let mut sums = [0.0; LAGS];
    // the samples up to the current one, which is the last
    let mut recent = [0.0; LAGS];
    let first = LAGS.min(weighted.len());
    for &value in &weighted[..first] {
        recent.rotate_left(1);
        recent[LAGS - 1] = value;
        for (sum, other) in sums.iter_mut().zip(&recent) {
            *sum += value * other;
        }
    }
    let windows = weighted.windows(LAGS).skip(1);
    for window in windows {
        let Some(window) = window.first_chunk::<LAGS>() else {
            break;
        };
        let value = window[LAGS - 1];
        for (sum, other) in sums.iter_mut().zip(window) {
            *sum += value * other;
        }
    }
    let mut lags = [0.0; MAX_ORDER + 1];
    for (lag, sum) in lags.iter_mut().zip(sums.iter().rev()) {
        *lag = *sum;
    }
    lags
}

/// Predictors of every order, by the recursion of Levinson and Durbin.
#[derive(Debug)]
pub(super) struct Ladder {
    rungs: Vec<(Vec<f64>, f64)>,
}

impl Ladder {
    /// Makes predictors up to an order; fewer if a lower one predicts the samples exactly.
    pub(super) fn new(correlation: &Autocorrelation, most: usize) -> Self {
        let mut error = correlation[0];
        let mut coefficients: Vec<f64> = Vec::with_capacity(most);
        let mut rungs = Vec::with_capacity(most);
        for order in 0..most {
            if error.is_nan() || error <= 0.0 {
                break;
            }
            let known: f64 = (0..order)
                .map(|index| coefficients[index] * correlation[order - index])
                .sum();
            let reflection = (correlation[order + 1] - known) / error;
            let before = coefficients.clone();
            for index in 0..order {
                coefficients[index] = before[index] - reflection * before[order - 1 - index];
            }
            coefficients.push(reflection);
            error *= 1.0 - reflection * reflection;
            rungs.push((coefficients.clone(), error));
        }
        Self { rungs }
    }

    /// Returns the highest order.
    pub(super) fn orders(&self) -> usize {
        self.rungs.len()
    }

    /// Estimates the order that takes the fewest bits for `count` samples, if each coefficient
    /// takes `overhead` bits; 0 if there is none.
    pub(super) fn best_order(&self, count: usize, overhead: u32) -> usize {
        let bits = |order: usize, error: f64| {
            // assumes a Laplace distribution of the residuals
            let each = (0.5 * log2(error / count as f64)).max(0.0);
            each * count.saturating_sub(order) as f64 + (order as f64) * f64::from(overhead)
        };
        let mut best = (0, f64::INFINITY);
        for (order, (_, error)) in (1..).zip(&self.rungs) {
            let bits = bits(order, *error);
            if bits < best.1 {
                best = (order, bits);
            }
        }
        best.0
    }

    /// Returns the predictor of an order from 1 on with integer coefficients.
    pub(super) fn predictor(&self, order: usize, precision: u32) -> Option<Predictor> {
        let (exact, _) = self.rungs.get(order.checked_sub(1)?)?;
        Predictor::quantized(exact, precision)
    }
}

/// Approximates the binary logarithm to some 0.01, the same on every machine.
pub(super) fn log2(value: f64) -> f64 {
    if value.is_nan() || value <= f64::MIN_POSITIVE {
        return -1000.0;
    }
    let bits = value.to_bits();
    let exponent = f64::from((bits >> 52) as u32) - 1023.0;
    let mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    let above = mantissa - 1.0;
    exponent + above * (1.0 + 0.346 * (1.0 - above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_near() {
        for value in [1e-9, 0.3, 1.0, 1.5, 2.0, 3.0, 1000.0, 1e18] {
            assert!((log2(value) - value.log2()).abs() < 0.02, "{value}");
        }
        assert_eq!(log2(0.0), -1000.0);
        assert_eq!(log2(f64::NAN), -1000.0);
    }

    #[test]
    fn a_decaying_wave_is_predicted_by_two_samples() {
        let wave = |index: i32| f64::from(index) * 0.3;
        let samples: Vec<i32> = (0..2000)
            .map(|i| (wave(i).sin() * 20_000.0) as i32)
            .collect();
        let exact: Vec<f64> = samples.iter().map(|&sample| sample.into()).collect();
        for most in [8, 32] {
            let ladder = Ladder::new(&autocorrelation(&exact, most), most);
            let predictor = ladder.predictor(2, 14).unwrap();
            assert_eq!(predictor.order, 2);
            let mut residual = Vec::new();
            assert!(predictor.residual(&samples, 16, &mut residual));
            let most = residual.iter().map(|left| left.abs()).max().unwrap();
            assert!(most < 400, "{most}");
        }
    }

    #[test]
    fn all_ways_leave_the_same() {
        let samples: Vec<i32> = (0..500)
            .map(|i: i32| (i * i * 7919) % 30_000 - 15_000)
            .collect();
        for order in [1, 4, 12] {
            let coefficients: Vec<f64> = (0..order).map(|i| 0.9 - 0.2 * f64::from(i)).collect();
            let predictor = Predictor::quantized(&coefficients, 10).unwrap();
            let (mut narrow, mut wide, mut any) = (Vec::new(), Vec::new(), Vec::new());
            assert!(predictor.residual(&samples, 16, &mut narrow));
            assert!(predictor.residual(&samples, 32, &mut wide));
            assert!(predictor.residual_of_any(&samples, &mut any));
            assert_eq!(narrow, wide);
            assert_eq!(narrow, any);
        }
    }

    #[test]
    fn residuals_beyond_32_bits_are_told() {
        let samples: Vec<i32> = (0..64)
            .map(|i| if i % 2 == 0 { i32::MIN } else { i32::MAX })
            .collect();
        let mut residual = Vec::new();
        assert!(Predictor::fixed(4).residual(&[1, 2, 3, 4, 5], 32, &mut residual));
        assert_eq!(residual, [0]);
        assert!(!Predictor::fixed(1).residual(&samples, 32, &mut residual));
        assert!(!Predictor::fixed(0).residual(&samples, 32, &mut residual));
    }

    #[test]
    fn nothing_is_made_of_silence_or_nonsense() {
        assert_eq!(Ladder::new(&[0.0; MAX_ORDER + 1], 8).orders(), 0);
        assert_eq!(Ladder::new(&[f64::NAN; MAX_ORDER + 1], 8).orders(), 0);
        assert!(Predictor::quantized(&[f64::NAN], 12).is_none());
        assert!(Predictor::quantized(&[0.0], 12).is_none());
        assert!(Predictor::quantized(&[1e9], 12).is_none());
    }
}
