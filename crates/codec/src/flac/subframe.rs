//! Subframes: one channel of one frame (RFC 9639, section 9.2).
//!
//! **Invariant:** each sample is compared with its width when it is decoded, so that a prediction
//! (32 products of 15 and 33 bits) cannot overflow 64 bits.

use sinterfs_model::Result;

use super::bits::Bits;
use super::checks::{bad, fits};

/// The most coefficients of a predictor.
const MAX_ORDER: usize = 32;

/// Decodes one channel of `block_size` samples of `width` bits into `samples`.
pub(super) fn decode(
    bits: &mut Bits<'_>,
    block_size: usize,
    width: u32,
    samples: &mut Vec<i64>,
) -> Result<()> {
    let head = bits.take_u8(8)?;
    if head & 0x80 != 0 {
        return Err(bad("reserved bit of a subframe is set"));
    }
    let wasted = match head & 1 {
        0 => 0,
        _ => bits.zeros()?.saturating_add(1),
    };
    let wasted = u32::try_from(wasted)
        .ok()
        .filter(|&wasted| wasted < width)
        .ok_or_else(|| bad("a subframe without bits"))?;
    let width = width - wasted;
    samples.clear();
    samples.resize(block_size, 0);
    match head >> 1 {
        0 => samples.fill(bits.signed(width)?),
        1 => {
            for sample in samples.iter_mut() {
                *sample = bits.signed(width)?;
            }
        }
        kind @ 8..=12 => fixed(bits, usize::from(kind - 8), width, samples)?,
        kind @ 32..=63 => linear(bits, usize::from(kind - 31), width, samples)?,
        _ => return Err(bad("reserved kind of subframe")),
    }
    if wasted > 0 {
        samples.iter_mut().for_each(|sample| *sample <<= wasted);
    }
    Ok(())
}

/// Decodes with one of the fixed predictors.
fn fixed(bits: &mut Bits<'_>, order: usize, width: u32, samples: &mut [i64]) -> Result<()> {
    // last sample first
    let coefficients: &[i64] = match order {
        0 => &[],
        1 => &[1],
        2 => &[2, -1],
        3 => &[3, -3, 1],
        _ => &[4, -6, 4, -1],
    };
    warm_up(bits, order, width, samples)?;
    residual(bits, order, samples)?;
    predict(coefficients, 0, width, samples)
}

/// Decodes with a predictor from the stream.
fn linear(bits: &mut Bits<'_>, order: usize, width: u32, samples: &mut [i64]) -> Result<()> {
    warm_up(bits, order, width, samples)?;
    let precision = u32::from(bits.take_u8(4)?) + 1;
    let shift = bits.signed(5)?;
    let shift = u32::try_from(shift).map_err(|_| bad("impossible predictor"))?;
    if precision == 16 {
        return Err(bad("impossible predictor"));
    }
    let mut coefficients = [0; MAX_ORDER];
    let coefficients = coefficients
        .get_mut(..order)
        .ok_or_else(|| bad("impossible predictor"))?;
    for coefficient in coefficients.iter_mut() {
        *coefficient = bits.signed(precision)?;
    }
    residual(bits, order, samples)?;
    predict(coefficients, shift, width, samples)
}

/// Reads the samples before the first prediction.
fn warm_up(bits: &mut Bits<'_>, order: usize, width: u32, samples: &mut [i64]) -> Result<()> {
    let first = samples
        .get_mut(..order)
        .ok_or_else(|| bad("a block shorter than its order"))?;
    for sample in first {
        *sample = bits.signed(width)?;
    }
    Ok(())
}

/// Turns residuals into samples by adding the prediction from the samples before.
fn predict(coefficients: &[i64], shift: u32, width: u32, samples: &mut [i64]) -> Result<()> {
    // the common orders get loops that the compiler can unroll
    macro_rules! by_order {
        ($($order:literal)*) => {
            match coefficients.len() {
                0 => samples.iter().all(|&sample| fits(sample, width)),
                $($order => predict_fixed::<$order>(coefficients, shift, width, samples),)*
                _ => predict_any(coefficients, shift, width, samples),
            }
        };
    }
    let fit = by_order!(1 2 3 4 5 6 7 8 9 10 11 12);
    if fit {
        Ok(())
    } else {
        Err(bad("a sample does not fit its width"))
    }
}

/// Predicts from a constant number of samples; returns whether all samples fit.
fn predict_fixed<const N: usize>(
    coefficients: &[i64],
    shift: u32,
    width: u32,
    samples: &mut [i64],
) -> bool {
    let Some(factors) = coefficients.first_chunk::<N>() else {
        return false;
    };
    // in the order of the samples
    let mut factors = *factors;
    factors.reverse();
    for index in N..samples.len() {
        let Some((past, [sample, ..])) = samples.split_at_mut_checked(index) else {
            break;
        };
        let Some(recent) = past.last_chunk::<N>() else {
            break;
        };
        // cannot overflow (see above): no checks in the inner loop
        let sum = recent
            .iter()
            .zip(&factors)
            .fold(0i64, |sum, (sample, factor)| {
                sum.wrapping_add(sample.wrapping_mul(*factor))
            });
        *sample = sample.wrapping_add(sum >> shift);
        if !fits(*sample, width) {
            return false;
        }
    }
    true
}

/// Predicts from any number of samples; returns whether all samples fit.
fn predict_any(coefficients: &[i64], shift: u32, width: u32, samples: &mut [i64]) -> bool {
    for index in coefficients.len()..samples.len() {
        let Some((past, [sample, ..])) = samples.split_at_mut_checked(index) else {
            break;
        };
        let recent = past.iter().rev();
        let sum: i64 = recent
            .zip(coefficients)
            .map(|(sample, factor)| sample * factor)
            .sum();
        *sample += sum >> shift;
        if !fits(*sample, width) {
            return false;
        }
    }
    true
}

/// Reads the residuals of all samples after the first `order`: Rice codes in partitions.
fn residual(bits: &mut Bits<'_>, order: usize, samples: &mut [i64]) -> Result<()> {
    let parameter_bits = match bits.take(2)? {
        0 => 4,
        1 => 5,
        _ => return Err(bad("reserved residual coding")),
    };
    let partition_order = bits.take(4)?;
    let size = samples.len() >> partition_order;
    if size << partition_order != samples.len() || size < order {
        return Err(bad("impossible partitions"));
    }
    let mut left = samples.get_mut(order..).unwrap_or_default();
    let mut count = size - order;
    for _ in 0..1u32 << partition_order {
        let (partition, behind) = left
            .split_at_mut_checked(count)
            .ok_or_else(|| bad("impossible partitions"))?;
        rice_partition(bits, parameter_bits, partition)?;
        (left, count) = (behind, size);
    }
    Ok(())
}

/// Reads one partition: Rice codes, or plain numbers after the escape code.
fn rice_partition(bits: &mut Bits<'_>, parameter_bits: u32, partition: &mut [i64]) -> Result<()> {
    let parameter = u32::from(bits.take_u8(parameter_bits)?);
    if parameter == (1 << parameter_bits) - 1 {
        let width = u32::from(bits.take_u8(5)?);
        for residual in partition {
            *residual = bits.signed(width)?;
        }
        return Ok(());
    }
    // a residual has at most 32 bits
    let most = u64::from(u32::MAX >> parameter);
    for residual in partition {
        let (high, low) = bits.rice(parameter)?;
        if high > most {
            return Err(bad("a residual above 32 bits"));
        }
        let zigzag = high << parameter | low;
        *residual = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
    }
    Ok(())
}
