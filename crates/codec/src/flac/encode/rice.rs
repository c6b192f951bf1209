//! The shortest Rice codes of residuals: how many partitions, and the parameter of each.
//!
//! **Invariant:** the computed number of bits is the number that is written.

use super::bits::Writer;

/// The number of parameters of the wide form; the narrow one has the first 15.
const PARAMETERS: usize = 31;
const NARROW: usize = 15;

/// How residuals are coded.
#[derive(Debug, Clone, Default)]
pub(super) struct Coding {
    /// The number of partitions as a power of two.
    order: u32,
    /// Whether parameters take 5 bits, not 4.
    wide: bool,
    parameters: Vec<u8>,
    /// Bits of all residuals and of their parameters.
    pub(super) bits: u64,
}

/// Reused memory.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    zigzags: Vec<u32>,
    /// A row for each partition: the sum of its codes' unary parts, by parameter.
    highs: Vec<u64>,
    counts: Vec<u64>,
}

/// Maps a residual to the number that is coded.
#[inline]
fn zigzag(residual: i32) -> u32 {
    (residual << 1 ^ residual >> 31).cast_unsigned()
}

/// Finds the shortest coding of the residuals that follow `skipped` samples of a frame.
pub(super) fn best(residual: &[i32], skipped: usize, most: u32, scratch: &mut Scratch) -> Coding {
    let size = residual.len() + skipped;
    let mut order = most.min(size.trailing_zeros());
    while order > 0 && size >> order <= skipped {
        order -= 1;
    }
    let Scratch {
        zigzags,
        highs,
        counts,
    } = scratch;
    zigzags.clear();
    zigzags.extend(residual.iter().map(|&residual| zigzag(residual)));
    let top = zigzags.iter().fold(0, |all, &zigzag| all | zigzag);
    // a parameter above the width of the largest number gains nothing
    let parameters = ((u32::BITS - top.leading_zeros()) as usize + 1).min(PARAMETERS);
    highs.clear();
    counts.clear();
    let mut rest = zigzags.as_slice();
    for partition in 0..1usize << order {
        let len = (size >> order) - if partition == 0 { skipped } else { 0 };
        let (part, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        push_high_bits(part, parameters, top, highs);
        counts.push(part.len() as u64);
    }
    let mut best = Coding {
        bits: u64::MAX,
        ..Coding::default()
    };
    loop {
        let rows = || highs.chunks_exact(parameters).zip(counts.iter().copied());
        consider(order, false, rows(), &mut best);
        if parameters > NARROW {
            consider(order, true, rows(), &mut best);
        }
        if order == 0 {
            return best;
        }
        order -= 1;
        halve(parameters, highs, counts);
    }
}

/// Sums the unary parts for each parameter. The numbers have no bits outside `top`.
fn push_high_bits(part: &[u32], parameters: usize, top: u32, highs: &mut Vec<u64>) {
    // sums of 32 bits are faster
    let small = u64::from(top) * part.len() as u64 <= u64::from(u32::MAX);
    highs.extend((0..parameters).map(|parameter| {
        if small {
            let sum = |sum: u32, &zigzag: &u32| sum.wrapping_add(zigzag >> parameter);
            u64::from(part.iter().fold(0, sum))
        } else {
            let above = part.iter().map(|&zigzag| u64::from(zigzag >> parameter));
            above.sum::<u64>()
        }
    }));
}

/// Joins pairs of partitions.
fn halve(parameters: usize, highs: &mut Vec<u64>, counts: &mut Vec<u64>) {
    let half = counts.len() / 2;
    for row in 0..half {
        let (to, from) = (row * parameters, 2 * row * parameters);
        for column in 0..parameters {
            highs[to + column] = highs[from + column] + highs[from + parameters + column];
        }
        counts[row] = counts[2 * row] + counts[2 * row + 1];
    }
    highs.truncate(half * parameters);
    counts.truncate(half);
}

/// Uses a coding with these partitions if it is shorter.
fn consider<'h>(
    order: u32,
    wide: bool,
    rows: impl Iterator<Item = (&'h [u64], u64)>,
    best: &mut Coding,
) {
    // how parameters are coded, how many partitions, a parameter for each
    let mut bits = 2 + 4 + ((4 + u64::from(wide)) << order);
    let mut chosen = [0; 1 << 8];
    let allowed = if wide { PARAMETERS } else { NARROW };
    for (place, (highs, count)) in chosen.iter_mut().zip(rows) {
        let (cost, parameter) = least(highs.get(..allowed).unwrap_or(highs), count);
        bits += cost;
        *place = parameter;
    }
    if bits < best.bits {
        best.order = order;
        best.wide = wide;
        best.bits = bits;
        best.parameters.clear();
        best.parameters.extend_from_slice(&chosen[..1 << order]);
    }
}

/// Returns the parameter with the fewest bits for `count` codes, and these bits. The gain of a
/// larger parameter decreases with every step, so the first increase ends the search.
fn least(highs: &[u64], count: u64) -> (u64, u8) {
    let cost = |parameter: usize| highs[parameter] + count * (parameter as u64 + 1);
    let mean = highs[0] / count.max(1);
    let mut at = ((u64::BITS - mean.leading_zeros()) as usize).min(highs.len() - 1);
    let mut bits = cost(at);
    while at > 0 && cost(at - 1) <= bits {
        at -= 1;
        bits = cost(at);
    }
    while at + 1 < highs.len() && cost(at + 1) < bits {
        at += 1;
        bits = cost(at);
    }
    (bits, at as u8)
}

impl Coding {
    /// Writes the residuals that follow `skipped` samples.
    pub(super) fn write(&self, residual: &[i32], skipped: usize, out: &mut Writer) {
        out.put(u64::from(self.wide), 2);
        out.put(u64::from(self.order), 4);
        let size = (residual.len() + skipped) >> self.order;
        let mut rest = residual;
        for (index, &parameter) in self.parameters.iter().enumerate() {
            let len = size - if index == 0 { skipped } else { 0 };
            let (part, after) = rest.split_at(len.min(rest.len()));
            rest = after;
            out.put(u64::from(parameter), 4 + u32::from(self.wide));
            out.rice(
                part.iter().map(|&residual| zigzag(residual)),
                parameter.into(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_told_are_written_and_none_fewer_would_do() {
        let mut state = 1u64;
        let mut noise = |bits: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state.cast_signed() >> (64 - bits)) as i32
        };
        let mut scratch = Scratch::default();
        for (len, skipped, quiet, loud) in [
            (4096, 8, 3, 12),
            (4096, 0, 1, 31),
            (1000, 12, 20, 24),
            (512, 32, 9, 9),
            (17, 4, 5, 5),
            (1, 0, 8, 8),
            (4, 4, 8, 8),
        ] {
            let residual: Vec<i32> = (skipped..len)
                .map(|index| noise(if index < len / 2 { quiet } else { loud }))
                .collect();
            let coding = best(&residual, skipped, 8, &mut scratch);
            let mut out = Writer::default();
            coding.write(&residual, skipped, &mut out);
            assert_eq!(out.len(), coding.bits, "{len} {skipped}");
            for order in 0..=8u32 {
                if !len.is_multiple_of(1 << order) || len >> order <= skipped {
                    continue;
                }
                for parameter in 0..=30u8 {
                    let wide = parameter > 14;
                    let zigzags = residual.iter().map(|&residual| u64::from(zigzag(residual)));
                    let codes: u64 = zigzags
                        .map(|z| (z >> parameter) + 1 + u64::from(parameter))
                        .sum();
                    let bits = 6 + ((4 + u64::from(wide)) << order) + codes;
                    assert!(coding.bits <= bits, "{len} {order} {parameter}");
                }
            }
        }
    }
}
