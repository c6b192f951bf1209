//! Facts about an image by name, as its format reports them (`Image::info`).
//!
//! In: rows of names and values. Out: the value of a name; nothing, zero or an empty text where
//! there is none of that type.

use sinterfs::image::{InfoRows, InfoValue};

/// Facts by name.
#[derive(Clone, Copy)]
pub struct Facts<'a>(pub &'a InfoRows);

impl<'a> Facts<'a> {
    /// Returns a value.
    pub fn get(self, name: &str) -> Option<&'a InfoValue> {
        let found = self.0.iter().find(|(row, _)| row == name);
        found.map(|(_, value)| value)
    }

    /// Returns a number.
    pub fn number(self, name: &str) -> u64 {
        match self.get(name) {
            Some(InfoValue::Number(number)) => *number,
            _ => 0,
        }
    }

    /// Returns a text.
    pub fn text(self, name: &str) -> &'a str {
        match self.get(name) {
            Some(InfoValue::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns whether something is so.
    pub fn flag(self, name: &str) -> bool {
        matches!(self.get(name), Some(InfoValue::Flag(true)))
    }

    /// Returns facts below a name, if there are any.
    pub fn map(self, name: &str) -> Option<Self> {
        match self.get(name) {
            Some(InfoValue::Map(rows)) => Some(Self(rows)),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub fn list(self, name: &str) -> &'a [InfoValue] {
        match self.get(name) {
            Some(InfoValue::List(list)) => list,
            _ => &[],
        }
    }

    /// Returns the texts of a list.
    pub fn texts(self, name: &str) -> Vec<&'a str> {
        let text = |item: &'a InfoValue| match item {
            InfoValue::Text(text) => Some(text.as_str()),
            _ => None,
        };
        self.list(name).iter().filter_map(text).collect()
    }
}
