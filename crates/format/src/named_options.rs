//! The options of one format by their names, for front ends that have them as text.
//!
//! In: a name and a value. Out: a typed field of the format's options. **Invariant:** a value that
//! the field cannot hold is an error here, before anything is opened.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// The value of an option as text.
#[derive(Debug, Clone, Copy)]
pub struct OptionText<'a> {
    name: &'static str,
    value: &'a OsStr,
}

impl<'a> OptionText<'a> {
    /// Returns the text; `Invalid` if it is not UTF-8.
    pub fn text(self) -> Result<&'a str> {
        let text = self.value.to_str();
        text.ok_or_else(|| self.wrong("UTF-8"))
    }

    fn wrong(self, expected: &str) -> Error {
        let (name, shown) = (self.name.replace('_', "-"), self.value.to_string_lossy());
        Error::invalid(format!("{name} `{shown}`: must be {expected}"))
    }

    /// Sets a field that has its own syntax.
    pub fn parse<T: FromStr<Err = Error>>(self, field: &mut T) -> Result<()> {
        *field = self.text()?.parse()?;
        Ok(())
    }

    /// Sets an optional field that has its own syntax.
    pub fn some<T: FromStr<Err = Error>>(self, field: &mut Option<T>) -> Result<()> {
        *field = Some(self.text()?.parse()?);
        Ok(())
    }

    /// Returns a number; `Invalid` for other text, and for one that is too large.
    pub fn number<T: FromStr>(self) -> Result<T> {
        let bits = size_of::<T>() * 8;
        let parsed = self.text()?.parse();
        parsed.map_err(|_| self.wrong(&format!("a number below 2^{bits}")))
    }

    /// Sets an optional field to a number.
    pub fn count<T: FromStr>(self, field: &mut Option<T>) -> Result<()> {
        *field = Some(self.number()?);
        Ok(())
    }

    /// Sets a field to the bytes of the text.
    pub fn bytes(self, field: &mut Vec<u8>) -> Result<()> {
        *field = self.text()?.as_bytes().to_vec();
        Ok(())
    }

    /// Sets an optional field to a path.
    pub fn file(self, field: &mut Option<PathBuf>) -> Result<()> {
        *field = Some(self.path());
        Ok(())
    }

    /// Sets a field to `true` or `false`.
    pub fn switch(self, field: &mut bool) -> Result<()> {
        let parsed = self.text()?.parse();
        *field = parsed.map_err(|_| self.wrong("true or false"))?;
        Ok(())
    }

    /// Returns the path that this is.
    pub fn path(self) -> PathBuf {
        self.value.into()
    }
}

/// An option of a format: its name, and what sets it.
pub type OptionRow<O> = (&'static str, fn(&mut O, OptionText<'_>) -> Result<()>);

/// Options of a format as a table.
pub trait OptionTable: Sized + 'static {
    /// All of them; `set` of a list adds to it.
    const ROWS: &'static [OptionRow<Self>];
}

/// Options that are set by their names.
pub trait NamedOptions {
    /// Returns the names.
    fn names(&self) -> Vec<&'static str>;
    /// Sets an option. Returns whether there is one of that name.
    ///
    /// # Errors
    /// `Invalid` for a value that it cannot have.
    fn set(&mut self, name: &str, value: &OsStr) -> Result<bool>;
}

impl<O: OptionTable> NamedOptions for O {
    fn names(&self) -> Vec<&'static str> {
        O::ROWS.iter().map(|(name, _)| *name).collect()
    }

    fn set(&mut self, name: &str, value: &OsStr) -> Result<bool> {
        let row = O::ROWS.iter().find(|(known, _)| *known == name);
        let set = row.map(|&(name, set)| set(self, OptionText { name, value }));
        set.transpose().map(|set| set.is_some())
    }
}
