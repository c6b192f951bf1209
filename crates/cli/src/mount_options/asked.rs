//! A mount option as it was given, and its value as what it is to be.
//!
//! In: the text of one option. Out: numbers, sizes, times and paths, or an error that names the
//! option.

use std::path::PathBuf;
use std::time::Duration;

use sinterfs::{Error, Result};

use crate::size;

/// An option as it was given.
pub(super) struct Asked<'a> {
    pub(super) text: &'a str,
    pub(super) value: &'a str,
}

impl Asked<'_> {
    pub(super) fn wrong(&self, why: &str) -> Error {
        Error::invalid(format!("mount option `{}`: {why}", self.text))
    }

    pub(super) fn id(&self) -> Result<u32> {
        self.value.parse().map_err(|_| self.wrong("not a number"))
    }

    pub(super) fn size(&self) -> Result<u64> {
        size::parse(self.value).map_err(|why| self.wrong(&why))
    }

    pub(super) fn seconds(&self) -> Result<Duration> {
        let (number, unit) = match self.value.strip_suffix(['s', 'm', 'h']) {
            Some(number) => (number, self.value.as_bytes().last()),
            None => (self.value, None),
        };
        let unit = match unit {
            Some(b'm') => 60,
            Some(b'h') => 3600,
            _ => 1,
        };
        let number: u64 = number.parse().map_err(|_| self.wrong("not a time"))?;
        Ok(Duration::from_secs(number.saturating_mul(unit)))
    }

    pub(super) fn path(&self) -> Result<PathBuf> {
        if self.value.is_empty() {
            return Err(self.wrong("the path is missing"));
        }
        Ok(self.value.into())
    }
}
