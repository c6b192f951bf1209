//! The findings of a check of an image.
//!
//! In: results of its steps. Out: problems and notes; errors that end the check are returned.
//! **Invariant:** memory is bounded: up to 10,000 problems and 10,000 notes are kept, of further
//! problems only the number.

use std::fmt::Display;

use crate::{Error, Kind, Result};

/// The most problems, and the most notes, that are kept.
const MAX_KEPT: usize = 10_000;

/// Problems of an image, and notes of harmless peculiarities, each in the order in which they were
/// found. Problems are errors, or messages of errors.
#[derive(Debug)]
pub struct Findings<P = Error> {
    problems: Vec<P>,
    omitted: u64,
    notes: Vec<String>,
}

impl<P> Default for Findings<P> {
    fn default() -> Self {
        Self {
            problems: Vec::new(),
            omitted: 0,
            notes: Vec::new(),
        }
    }
}

impl<P: Display> Findings<P> {
    /// Adds a problem.
    pub fn problem(&mut self, problem: P) {
        if self.problems.len() < MAX_KEPT {
            self.problems.push(problem);
        } else {
            self.omitted = self.omitted.saturating_add(1);
        }
    }

    /// Adds a note.
    pub fn note(&mut self, note: String) {
        if self.notes.len() < MAX_KEPT {
            self.notes.push(note);
        }
    }

    /// Returns the problems that were kept.
    pub fn problems(&self) -> &[P] {
        &self.problems
    }

    /// Returns the notes that were kept.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns whether there are no problems.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns problems and notes as messages; the last problem counts those that were not kept.
    pub fn into_messages(self) -> (Vec<String>, Vec<String>) {
        let mut problems: Vec<_> = self.problems.iter().map(ToString::to_string).collect();
        if self.omitted > 0 {
            problems.push(format!("{} further problems", self.omitted));
        }
        (problems, self.notes)
    }
}

impl Findings {
    /// Takes what a step of a check returned. Damage becomes a problem, and the step has no value;
    /// failed reads and a cancelled check are returned.
    pub fn record<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.kind(), Kind::Io | Kind::Cancelled) => Err(error),
            Err(error) => {
                self.problem(error);
                Ok(None)
            }
        }
    }

    /// Takes what opening the image returned. If it is damaged, that is the only problem, and there
    /// is no image to check; that there is none of this format is returned.
    pub fn opened<T>(&mut self, image: Result<T>) -> Result<Option<T>> {
        match image {
            Ok(image) => Ok(Some(image)),
            Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Limit) => {
                self.problem(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The findings of a check that walks the inodes of an image.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct InodeReport {
    /// The number of inodes checked.
    pub inodes: u64,
    /// Problems and notes, in the order of the check.
    pub findings: Findings,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_end_a_check_are_returned() {
        let mut findings = Findings::default();
        assert_eq!(findings.record(Ok(7)).unwrap(), Some(7));
        for kind in [Kind::Io, Kind::Cancelled] {
            assert!(findings.record::<()>(Err(Error::new(kind, "x"))).is_err());
        }
        assert!(findings.is_sound());
        let damage = || Err::<(), _>(Error::corrupt("x"));
        assert_eq!(findings.record(damage()).unwrap(), None);
        assert_eq!(findings.opened(damage()).unwrap(), None);
        let other = Error::new(Kind::Unsupported, "x");
        assert!(findings.opened::<()>(Err(other)).is_err());
        assert_eq!(findings.problems().len(), 2);
    }

    #[test]
    fn many_problems_are_counted() {
        let mut findings = Findings::<Error>::default();
        assert!(findings.is_sound());
        for number in 0..MAX_KEPT + 7 {
            findings.problem(Error::corrupt(format!("{number}")));
            findings.note(format!("{number}"));
        }
        assert!(!findings.is_sound() && findings.problems().len() == MAX_KEPT);
        let (problems, notes) = findings.into_messages();
        assert_eq!(problems.len(), MAX_KEPT + 1);
        assert_eq!(
            problems.last().map(String::as_str),
            Some("7 further problems")
        );
        assert_eq!(notes.len(), MAX_KEPT);
    }
}
