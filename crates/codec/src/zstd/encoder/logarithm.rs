//! Logarithms of base two in integers, so that every machine estimates alike.
//!
//! In: a count. Out: its logarithm in fractions of a bit.

/// Parts of a bit, as a power of two.
pub(super) const FRACTION: u32 = 16;

/// Bits of a number, after its highest one, that its logarithm is looked up by.
const INDEX_BITS: u32 = 10;

/// The fractional part of the logarithm of 1 + index / 1024.
static MANTISSA: [u32; 1 << INDEX_BITS] = mantissas();

/// Works out log2 by squaring: each squaring doubles the logarithm and yields one more digit.
const fn mantissas() -> [u32; 1 << INDEX_BITS] {
    let mut table = [0; 1 << INDEX_BITS];
    let mut index = 0;
    while index < table.len() {
        // a fixed-point number in 1..2, with 31 bits after the point
        let mut value = ((1 << INDEX_BITS) + index as u64) << (31 - INDEX_BITS);
        let mut digits = 0;
        let mut digit = 0;
        while digit < FRACTION {
            value = (value * value) >> 31;
            digits <<= 1;
            if value >= 1 << 32 {
                value >>= 1;
                digits |= 1;
            }
            digit += 1;
        }
        table[index] = digits;
        index += 1;
    }
    table
}

/// Returns the logarithm of a number, rounded down to what ten bits after the highest one give; 0
/// for 0.
#[inline(always)]
pub(super) fn log2(number: u32) -> u32 {
    let number = number | u32::from(number == 0);
    let exponent = number.ilog2();
    let index = if exponent >= INDEX_BITS {
        number >> (exponent - INDEX_BITS)
    } else {
        number << (INDEX_BITS - exponent)
    };
    (exponent << FRACTION) | MANTISSA[index as usize & ((1 << INDEX_BITS) - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_near() {
        for number in (1..5000).chain([1 << 17, (1 << 17) + 1, u32::MAX]) {
            let exact = f64::from(number).log2();
            let found = f64::from(log2(number)) / f64::from(1 << FRACTION);
            assert!((exact - found).abs() < 0.002, "{number}: {found}");
        }
        assert_eq!(log2(0), 0);
    }
}
