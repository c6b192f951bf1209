//! What a check of an image finds.
//!
//! **Invariant:** memory is bounded, however much is wrong: of ten thousand problems and as many notes
//! everything is kept, of more only the number of problems.

use std::fmt::Display;

use crate::Error;

/// Problems, and as many notes, that are kept.
const KEPT: usize = 10_000;

/// What is wrong with an image and what is unusual, each in the order in which it was found; problems
/// are errors, or what was said of them.
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
    /// Adds something that is wrong.
    pub fn problem(&mut self, problem: P) {
        if self.problems.len() < KEPT {
            self.problems.push(problem);
        } else {
            self.omitted = self.omitted.saturating_add(1);
        }
    }

    /// Adds something unusual that harms nobody.
    pub fn note(&mut self, note: String) {
        if self.notes.len() < KEPT {
            self.notes.push(note);
        }
    }

    /// Returns what is wrong, as far as it was kept.
    pub fn problems(&self) -> &[P] {
        &self.problems
    }

    /// Returns what is unusual, as far as it was kept.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns problems and notes in words; how many problems were not kept is one more.
    pub fn in_words(self) -> (Vec<String>, Vec<String>) {
        let mut problems: Vec<_> = self.problems.iter().map(ToString::to_string).collect();
        if self.omitted > 0 {
            problems.push(format!("{} further problems", self.omitted));
        }
        (problems, self.notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_problems_are_counted() {
        let mut findings = Findings::<Error>::default();
        assert!(findings.is_sound());
        for number in 0..KEPT + 7 {
            findings.problem(Error::corrupt(format!("{number}")));
            findings.note(format!("{number}"));
        }
        assert!(!findings.is_sound() && findings.problems().len() == KEPT);
        let (problems, notes) = findings.in_words();
        assert_eq!(problems.len(), KEPT + 1);
        assert_eq!(
            problems.last().map(String::as_str),
            Some("7 further problems")
        );
        assert_eq!(notes.len(), KEPT);
    }
}
