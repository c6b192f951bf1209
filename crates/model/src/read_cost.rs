//! The price of reads beside that of size.
//!
//! What a cold read costs is what it decodes, so where files are placed and what they refer to
//! decides it. **Invariant:** the image depends on the price, never on the machine.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// What reads of an image may cost, where blocks hold many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadCost {
    /// Nothing: only size counts, as for an archive that is unpacked as a whole.
    #[default]
    Free,
    /// Files are read one by one, from a mount with a cache: a reference into another block must
    /// save more than its decoding costs.
    Mount,
    /// The same, and little is cached: besides, files of a directory are close to each other, and
    /// large ones begin a block.
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
