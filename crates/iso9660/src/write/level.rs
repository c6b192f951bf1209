//! The levels of interchange of ECMA-119, section 10, and of ISO 9660:1999.

use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// Which names of files and how many sections of them the primary tree may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterchangeLevel {
    /// Names of 8 characters and an extension of 3, files in one section.
    One,
    /// Names of up to 31 characters, files in one section.
    Two,
    /// Names of up to 31 characters.
    #[default]
    Three,
    /// ISO 9660:1999: an enhanced descriptor, and names of up to 193 bytes as they are.
    Four,
}

impl FromStr for InterchangeLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "1" => Self::One,
            "2" => Self::Two,
            "3" => Self::Three,
            "4" => Self::Four,
            _ => {
                let what = format!("level `{text}`: must be from 1 to 4");
                return Err(Error::invalid(what));
            }
        })
    }
}

impl InterchangeLevel {
    /// Returns whether a file may have several sections.
    pub(super) fn has_sections(self) -> bool {
        matches!(self, Self::Three | Self::Four)
    }
}
