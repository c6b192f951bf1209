//! The given options of another program, and our options that they become.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::rc::Rc;

use sinterfs::{Error, Result};

/// The parsed command line of another program.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Options of ours, ready for the command line of `sinter`.
    pub(super) translated: Vec<OsString>,
    /// Options whose translation depends on other options, in order.
    given: Vec<Given>,
    /// Arguments that are no options.
    pub(super) operands: Vec<OsString>,
    /// Every option that was given.
    pub(super) typed: Vec<Typed>,
    /// The notes about options that have no effect; shared with the printing code, since the
    /// translation of options may add some.
    pub(super) notes: Rc<RefCell<Vec<String>>>,
}

/// An option that was given, with its value.
#[derive(Debug)]
struct Given {
    /// The first spelling of its rule, which identifies it.
    name: &'static str,
    /// The spelling that was typed, which messages quote.
    typed: &'static str,
    value: OsString,
}

/// An option as typed, for messages about its translation.
#[derive(Debug, Clone, Copy)]
pub struct Typed {
    pub(super) spelling: &'static str,
    /// The documentation of its rule, which names the options that it is translated to.
    pub(super) becomes: &'static str,
}

impl Parsed {
    /// Records an option whose translation depends on other options.
    pub(super) fn record(&mut self, name: &'static str, typed: &'static str, value: OsString) {
        self.given.push(Given { name, typed, value });
    }

    /// Returns whether an option was given, by the first spelling of its rule.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given.name == name)
    }

    /// Returns the values of an option in order.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &OsStr> {
        let given = self.given.iter();
        given.filter_map(move |given| (given.name == name).then_some(&*given.value))
    }

    /// Returns the options in the order in which they were given: the first spelling of the rule,
    /// what was typed, and the value.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (&'static str, &'static str, &OsStr)> {
        let given = self.given.iter();
        given.map(|given| (given.name, given.typed, &*given.value))
    }

    /// Returns the spelling of an option that was typed last, for messages about it.
    pub(super) fn typed(&self, name: &'static str) -> &'static str {
        let last = self.given.iter().rfind(|given| given.name == name);
        last.map_or(name, |given| given.typed)
    }

    /// Returns the last value of an option; fails if it is not UTF-8.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>> {
        let Some(value) = self.values(name).last() else {
            return Ok(None);
        };
        let text = value.to_str();
        let not_utf8 = || Error::invalid(format!("{}: the value is not UTF-8", self.typed(name)));
        text.map(Some).ok_or_else(not_utf8)
    }

    /// Adds an option of ours with a value.
    pub(super) fn push(&mut self, ours: &str, value: impl AsRef<OsStr>) {
        self.translated.push(with_value(ours, value.as_ref()));
    }

    /// Adds a flag of ours unless it is there already.
    pub(super) fn push_flag(&mut self, ours: &str) {
        if !self.translated.iter().any(|word| word == ours) {
            self.translated.push(ours.into());
        }
    }

    /// Adds an option of ours with a value, in place of the same option given earlier.
    pub(super) fn replace(&mut self, ours: &str, value: &OsStr) {
        let start = with_value(ours, OsStr::new(""));
        let is_same = |word: &OsString| {
            word.as_encoded_bytes()
                .starts_with(start.as_encoded_bytes())
        };
        self.translated.retain(|word| !is_same(word));
        self.push(ours, value);
    }

    /// Takes exactly two operands; `missing` is the message if there are fewer.
    pub(super) fn two_operands(&mut self, missing: &'static str) -> Result<[OsString; 2]> {
        let operands = std::mem::take(&mut self.operands);
        match <[OsString; 2]>::try_from(operands) {
            Ok(two) => Ok(two),
            Err(many) if many.len() > 2 => Err(Error::unsupported(
                "only one source is taken here; `sinter merge` combines several into one image",
            )),
            Err(_) => Err(Error::invalid(missing)),
        }
    }
}

/// Joins an option and its value by `=`.
pub(super) fn with_value(ours: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(ours);
    word.push("=");
    word.push(value);
    word
}
