//! What an image is packed for, in one word: the profile that decides about its blocks and about
//! what its reads may cost.
//!
//! **Invariant:** each name is parsed to the variant that is displayed as it; images record it.

use std::fmt;
use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// What an image is packed for, where blocks hold many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Reading single files from a mount: blocks that decode fast.
    #[default]
    Mount,
    /// Being kept, and unpacked as a whole: the smallest image, whatever a single read costs.
    Archive,
    /// Reading a few files over a network: small blocks, so that little is fetched for each read.
    Remote,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mount => "mount",
            Self::Archive => "archive",
            Self::Remote => "remote",
        })
    }
}

impl FromStr for Purpose {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "mount" => Ok(Self::Mount),
            "archive" => Ok(Self::Archive),
            "remote" => Ok(Self::Remote),
            _ => {
                let what = format!("unknown purpose {text:?} (supported: mount, archive, remote)");
                Err(Error::invalid(what))
            }
        }
    }
}
