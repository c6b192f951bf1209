//! The text form of a codec with options: `name[:key=value|:flag]...`.
//!
//! In: text from the user. Out: typed values, each within its range.
//!
//! **Invariant:** nothing is ignored: unknown, repeated and out-of-range options are errors that
//! list what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// What decodes the streams, which decides on the options that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Programs with the codecs' libraries: everything that streams may have. Dictionaries are
    /// powers of two.
    Programs,
    /// Drivers of kernels, too: windows up to the length of a unit, checksums that all drivers
    /// have. Dictionaries are in bytes.
    Kernels,
}

/// The options of one codec while they are parsed.
#[derive(Debug)]
pub struct Options<'a> {
    text: &'a str,
    name: &'a str,
    readers: Readers,
    /// The level where the text has none, instead of the codec's own.
    level: Option<i32>,
    left: Vec<(&'a str, Option<&'a str>)>,
    allowed: Vec<String>,
}

impl<'a> Options<'a> {
    /// Splits the text into the name and its options.
    pub fn new(text: &'a str, readers: Readers) -> Result<Self> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let mut left: Vec<(&str, Option<&str>)> = Vec::new();
        for part in parts {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (part, None),
            };
            if left.iter().any(|&(other, _)| other == key) {
                return Err(Error::invalid(format!(
                    "compression `{text}`: `{key}` given twice"
                )));
            }
            left.push((key, value));
        }
        Ok(Self {
            text,
            name,
            readers,
            level: None,
            left,
            allowed: Vec::new(),
        })
    }

    /// Returns the codec's name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the decoder of the streams.
    pub fn readers(&self) -> Readers {
        self.readers
    }

    /// Sets the level where the text has none, instead of the codec's own.
    pub fn set_level(&mut self, level: Option<i32>) {
        self.level = level;
    }

    /// Removes and returns a number, under any of its names.
    pub fn number<T>(&mut self, keys: &[&str], range: RangeInclusive<T>) -> Result<Option<T>>
    where
        T: FromStr + PartialOrd + Display,
    {
        let shape = format!("{}={}..{}", keys.join("|"), range.start(), range.end());
        self.allowed.push(shape.clone());
        let Some(value) = self.take(keys)? else {
            return Ok(None);
        };
        value
            .and_then(|value| value.parse().ok())
            .filter(|number| range.contains(number))
            .map(Some)
            .ok_or_else(|| self.error(&format!("expected {shape}")))
    }

    /// Removes and returns the level of the codec; `own` if none is given.
    pub fn level(&mut self, range: RangeInclusive<i32>, own: i32) -> Result<i32> {
        let (least, most) = (*range.start(), *range.end());
        let given = self.number(&["level"], range)?;
        let level = given.or(self.level).unwrap_or(own);
        if (least..=most).contains(&level) {
            return Ok(level);
        }
        Err(self.error(&format!("expected level={least}..{most}")))
    }

    /// Removes and returns one of several words.
    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        let words: Vec<&str> = choices.iter().map(|&(word, _)| word).collect();
        let shape = format!("{key}={}", words.join("|"));
        self.allowed.push(shape.clone());
        let Some(value) = self.take(&[key])? else {
            return Ok(None);
        };
        choices
            .iter()
            .find(|&&(word, _)| Some(word) == value)
            .map(|&(_, choice)| Some(choice))
            .ok_or_else(|| self.error(&format!("expected {shape}")))
    }

    /// Removes and returns some of several words, separated by commas.
    pub fn choices<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Result<Vec<T>> {
        let words: Vec<&str> = choices.iter().map(|&(word, _)| word).collect();
        let shape = format!("{key}={},..", words.join("|"));
        self.allowed.push(shape.clone());
        let Some(value) = self.take(&[key])? else {
            return Ok(Vec::new());
        };
        let mut found: Vec<(&str, T)> = Vec::new();
        for part in value.unwrap_or_default().split(',') {
            let known = choices.iter().find(|&&(word, _)| word == part);
            let known = known.ok_or_else(|| self.error(&format!("expected {shape}")))?;
            if found.iter().any(|(word, _)| *word == part) {
                return Err(self.error(&format!("`{part}` given twice")));
            }
            found.push(*known);
        }
        Ok(found.into_iter().map(|(_, choice)| choice).collect())
    }

    /// Removes and returns a number of bytes below 4 GiB, which may end in k or m, under any of its
    /// names.
    pub fn size(&mut self, keys: &[&str]) -> Result<Option<u32>> {
        let shape = format!("{}=BYTES[k|m]", keys.join("|"));
        self.allowed.push(shape.clone());
        let Some(value) = self.take(keys)? else {
            return Ok(None);
        };
        let value = value.unwrap_or_default().to_ascii_lowercase();
        let (digits, unit) = match value.strip_suffix('k') {
            Some(digits) => (digits, 1 << 10),
            None => match value.strip_suffix('m') {
                Some(digits) => (digits, 1 << 20),
                None => (&value[..], 1u32),
            },
        };
        let number: Option<u32> = digits.parse().ok();
        let bytes = number.and_then(|number| number.checked_mul(unit));
        bytes
            .map(Some)
            .ok_or_else(|| self.error(&format!("expected {shape}")))
    }

    /// Returns whether an option is given and has not been removed.
    pub fn has(&self, key: &str) -> bool {
        self.left.iter().any(|&(other, _)| other == key)
    }

    /// Removes a word whose value may be left out; returns its value.
    pub fn flag_or_number<T>(&mut self, key: &str, range: RangeInclusive<T>) -> Result<Option<T>>
    where
        T: FromStr + PartialOrd + Display,
    {
        match self.left.iter().position(|&word| word == (key, None)) {
            Some(index) => {
                self.left.remove(index);
                let shape = format!("{key}[={}..{}]", range.start(), range.end());
                self.allowed.push(shape);
                Ok(None)
            }
            None => self.number(&[key], range),
        }
    }

    /// Removes a word without a value; returns whether it was given.
    pub fn flag(&mut self, key: &str) -> Result<bool> {
        self.allowed.push(key.to_owned());
        match self.take(&[key])? {
            None => Ok(false),
            Some(None) => Ok(true),
            Some(Some(_)) => Err(self.error(&format!("`{key}` takes no value"))),
        }
    }

    /// Fails if an unknown option is left.
    pub fn finish(self) -> Result<()> {
        let Some(&(key, _)) = self.left.first() else {
            return Ok(());
        };
        let allowed = match self.allowed.as_slice() {
            [] => "it has none".to_owned(),
            allowed => format!("allowed: {}", allowed.join(", ")),
        };
        Err(self.error(&format!(
            "unknown option `{key}` of {} ({allowed})",
            self.name
        )))
    }

    fn take(&mut self, keys: &[&str]) -> Result<Option<Option<&'a str>>> {
        let mut found = None;
        for key in keys {
            let Some(index) = self.left.iter().position(|(name, _)| name == key) else {
                continue;
            };
            if found.is_some() {
                return Err(self.error(&format!("`{}` given twice", keys.join("|"))));
            }
            found = Some(self.left.remove(index).1);
        }
        Ok(found)
    }

    /// Makes the error for wrong options.
    pub(super) fn error(&self, what: &str) -> Error {
        Error::invalid(format!("compression `{}`: {what}", self.text))
    }
}
