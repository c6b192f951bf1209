//! What symbols cost, by how often they occur.

/// A bit, in the unit of costs.
pub(in crate::codec) const UNIT: u32 = 16;

/// Sets the price of each symbol: the logarithm of its share. A symbol that did not occur costs as
/// much as one that occurred half a time.
pub(in crate::codec) fn prices(frequencies: &[u32], prices: &mut [u32]) {
    let total: u32 = frequencies.iter().sum();
    let whole = log2(2 * total.max(1));
    for (price, count) in prices.iter_mut().zip(frequencies) {
        *price = (whole - log2((2 * count).max(1))).max(UNIT / 2);
    }
}

/// Returns the logarithm of a number to the base 2, in the unit of costs, interpolated.
fn log2(number: u32) -> u32 {
    let whole = number.ilog2();
    let fraction = (u64::from(number) << 4 >> whole) & 15;
    whole * UNIT + u32::try_from(fraction).unwrap_or(0)
}
