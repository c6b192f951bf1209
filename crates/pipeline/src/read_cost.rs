//! The price of reads in relation to size.
//!
//! The cost of a cold read is the bytes that it decodes, so it depends on the placement and the
//! references of files. **Invariant:** the image depends on the price, never on the machine.

use std::fmt;
use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// The cost that reads of an image may have, if blocks hold many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReadCost {
    /// Nothing: only size counts, as for an archive that is unpacked as a whole.
    #[default]
    Free,
    /// Files are read one by one, from a mount with a cache: a reference into another block must
    /// save more than its decoding costs.
    Mount,
    /// The same, with little caching: also, files of a directory are close to each other, and large
    /// ones begin a block.
    Remote,
}

impl fmt::Display for ReadCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Free => "free",
            Self::Mount => "mount",
            Self::Remote => "remote",
        })
    }
}

impl FromStr for ReadCost {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "free" => Ok(Self::Free),
            "mount" => Ok(Self::Mount),
            "remote" => Ok(Self::Remote),
            _ => {
                let what = format!("unknown read cost {text:?} (supported: free, mount, remote)");
                Err(Error::invalid(what))
            }
        }
    }
}

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
    /// Content that is stored again instead of referenced serves all similar contents in the block,
    /// so the price rises with content that is not new.
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
