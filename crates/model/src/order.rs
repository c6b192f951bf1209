//! The order in which contents are stored: what can be asked for.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The order in which contents are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Similar contents together.
    #[default]
    Similarity,
    /// In depth-first order of the tree, with names in bytewise order.
    Path,
    /// By path, from the last component to the first: equal names are adjacent.
    ReversePath,
    /// By node number of the source: level by level for a directory.
    None,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Similarity => "similarity",
            Self::Path => "path",
            Self::ReversePath => "revpath",
            Self::None => "none",
        })
    }
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "similarity" => Self::Similarity,
            "path" => Self::Path,
            "revpath" => Self::ReversePath,
            "none" => Self::None,
            _ => {
                let what =
                    format!("unknown order {text:?} (supported: similarity, path, revpath, none)");
                return Err(Error::invalid(what));
            }
        })
    }
}
