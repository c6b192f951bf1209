//! An observer that keeps the warnings of a scan until it is known what they are about.

use std::sync::{Mutex, PoisonError};

use sinterfs_model::{Error, Observer, Stage, Tally};

/// The warnings of a scan.
#[derive(Default)]
pub(crate) struct KeptWarnings<'a> {
    /// Who is asked whether to stop.
    inner: Option<&'a dyn Observer>,
    kept: Mutex<Vec<Error>>,
}

impl<'a> KeptWarnings<'a> {
    /// Keeps warnings; asks another observer whether to stop.
    pub(crate) fn instead_of(inner: &'a dyn Observer) -> Self {
        Self {
            inner: Some(inner),
            kept: Mutex::default(),
        }
    }

    /// Returns the warnings, in order.
    pub(crate) fn into_warnings(self) -> Vec<Error> {
        self.kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for KeptWarnings<'_> {
    fn expect(&self, _: Stage, _: Tally) {}

    fn advance(&self, _: Stage, _: Tally) {}

    fn warn(&self, warning: &Error) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(copy(warning));
    }

    fn cancelled(&self) -> bool {
        self.inner.is_some_and(Observer::cancelled)
    }
}

/// Makes a warning again, but for its cause.
pub(crate) fn copy(warning: &Error) -> Error {
    let mut copy = Error::new(warning.kind(), warning.what().to_owned());
    if let Some(place) = warning.place() {
        copy = match place.offset {
            Some(offset) => copy.at(place.structure.clone(), offset),
            None => copy.within(place.structure.clone()),
        };
    }
    match warning.concerned_path() {
        Some(path) => copy.path(path),
        None => copy,
    }
}
