//! The root digest: 32 bytes over all stored digests.

use std::fmt;
use std::str::FromStr;

use sinterfs_model::{Error, Result};

use super::layout::Hash;

/// The root digest of an image; it determines every byte that the digests cover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Root(pub(super) Hash);

impl From<Hash> for Root {
    fn from(hash: Hash) -> Self {
        Self(hash)
    }
}

impl From<Root> for Hash {
    fn from(root: Root) -> Self {
        root.0
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({self})")
    }
}

impl FromStr for Root {
    type Err = Error;

    /// Parses 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self> {
        let no_digest =
            || Error::invalid(format!("`{text}` is not a digest of 64 hexadecimal digits"));
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(no_digest());
        }
        let mut root = [0; 32];
        for (byte, [high, low]) in root.iter_mut().zip(pairs) {
            let digit = |digit: &u8| char::from(*digit).to_digit(16).ok_or_else(no_digest);
            *byte = u8::try_from(digit(high)? * 16 + digit(low)?).map_err(|_| no_digest())?;
        }
        Ok(Self(root))
    }
}
