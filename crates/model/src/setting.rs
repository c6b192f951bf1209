//! Options of requests, for errors that refer to them.

use std::fmt;

/// Names an option of a request: by its field, or by its name in the table of a format.
///
/// A message that refers to options has their names in backticks, as `Display` writes them, and the
/// error lists them ([`crate::Error::settings`]), so that a front end can put its own words (a
/// flag, the label of a field) in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Setting(pub &'static str);

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}
