//! The price of references into other blocks, where reads cost something.

/// A factor of the price of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PriceFactor {
    sixteenths: u64,
}

impl PriceFactor {
    /// The most that references may cost.
    const MOST: u64 = 8;

    /// Returns the factor for contents of `bytes`, of which `new` are in none that is similar.
    ///
    /// What is stored again instead of referring to it serves all similar contents in the block, so
    /// that the price rises with what is not new.
    pub fn of(bytes: u64, new: u64) -> Self {
        let repeated = u128::from(bytes.saturating_sub(new));
        let sixteenths = repeated * 16 * u128::from(Self::MOST) / u128::from(new.max(1));
        Self {
            sixteenths: sixteenths.clamp(16, u128::from(16 * Self::MOST)) as u64,
        }
    }

    /// Returns a price times the factor.
    pub fn times(self, price: u64) -> u64 {
        price.saturating_mul(self.sixteenths) / 16
    }
}

impl Default for PriceFactor {
    fn default() -> Self {
        Self { sixteenths: 16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_dearer_where_contents_repeat_each_other() {
        let price = |bytes, new| PriceFactor::of(bytes, new).times(1000);
        assert_eq!(price(100, 100), 1000);
        assert_eq!(price(110, 100), 1000);
        assert_eq!(price(150, 100), 4000);
        assert_eq!(price(200, 100), 8000);
        assert_eq!(price(u64::MAX, 0), 8000);
        assert_eq!(PriceFactor::default().times(7), 7);
    }
}
