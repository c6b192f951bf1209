//! Errors of single entries of directories, so that a listing continues after them.
//!
//! In: errors, each with its directory and position. Out: one error for each directory that has
//! such entries, which ends its listing. **Invariant:** an error is kept once however often its
//! directory is listed, and returned by each listing that comes to its end; memory is bounded.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Place;
use crate::{Error, Ino, Result};

/// The most entries that are kept.
const MAX_ERRORS: usize = 1 << 16;

/// The most entries of one directory whose errors are in its message.
const SHOWN: usize = 16;

/// The entries of an image that no listing shows, and why.
#[derive(Debug, Default)]
pub struct ListingErrors {
    any: AtomicBool,
    /// Errors by directory and position.
    all: Mutex<BTreeMap<(Ino, u64), Error>>,
}

impl ListingErrors {
    /// Keeps the error of an entry, so that its listing continues. Returns an error that is not
    /// about the image, and any if too many are kept: the listing ends there.
    pub fn note(&self, dir: Ino, position: u64, error: Error) -> Result<()> {
        if !error.is_about_image() {
            return Err(error);
        }
        let mut all = self.all();
        if all.len() >= MAX_ERRORS && !all.contains_key(&(dir, position)) {
            return Err(error);
        }
        all.entry((dir, position)).or_insert(error);
        self.any.store(true, Ordering::Release);
        Ok(())
    }

    /// Ends a listing: `Corrupt` with the place of the first entry of the directory that was left
    /// out.
    pub fn end(&self, dir: Ino) -> Result<()> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let all = self.all();
        let mut of_dir = all
            .range((dir, 0)..=(dir, u64::MAX))
            .map(|(_, error)| error);
        let Some(first) = of_dir.next() else {
            return Ok(());
        };
        let mut shown = vec![first.what().to_owned()];
        shown.extend(of_dir.by_ref().take(SHOWN - 1).map(Error::to_string));
        let more = of_dir.count();
        if more > 0 {
            shown.push(format!("{more} more entries"));
        }
        let what = format!("entries are left out: {}", shown.join("; "));
        let error = Error::corrupt(what);
        Err(match first.place() {
            Some(Place { structure, offset }) => match offset {
                Some(offset) => error.at(structure.clone(), *offset),
                None => error.within(structure.clone()),
            },
            None => error,
        })
    }

    /// Returns the directories that have such entries, in ascending order.
    pub fn directories(&self) -> Vec<Ino> {
        let mut found: Vec<Ino> = self.all().keys().map(|(dir, _)| *dir).collect();
        found.dedup();
        found
    }

    /// Returns the error of each directory that has such entries.
    pub fn each(&self) -> impl Iterator<Item = Error> {
        let directories = self.directories().into_iter();
        directories.filter_map(|dir| self.end(dir).err())
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<(Ino, u64), Error>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::Kind;

    #[test]
    fn each_listing_ends_with_the_omitted_entries() {
        let errors = ListingErrors::default();
        errors.end(Ino(1)).unwrap();
        for _ in 0..2 {
            errors
                .note(Ino(1), 7, Error::corrupt("the name \"a/b\""))
                .unwrap();
            errors
                .note(Ino(1), 3, Error::corrupt("the name \"..\""))
                .unwrap();
        }
        for _ in 0..2 {
            let what = errors.end(Ino(1)).unwrap_err().to_string();
            assert!(
                what.ends_with("the name \"..\"; corrupt image: the name \"a/b\""),
                "{what}"
            );
        }
        errors.end(Ino(2)).unwrap();
        assert_eq!(errors.directories(), [Ino(1)]);
        let stop = Error::new(Kind::Cancelled, "stopped");
        assert!(errors.note(Ino(2), 0, stop).is_err());
        errors.end(Ino(2)).unwrap();
    }

    #[test]
    fn no_more_than_so_many_are_kept() {
        let errors = ListingErrors::default();
        for at in 0..MAX_ERRORS as u64 {
            errors.note(Ino(1), at, Error::corrupt("bad")).unwrap();
        }
        assert!(
            errors
                .note(Ino(1), u64::MAX, Error::corrupt("bad"))
                .is_err()
        );
        errors.note(Ino(1), 0, Error::corrupt("bad")).unwrap();
        let what = errors.end(Ino(1)).unwrap_err().to_string();
        assert!(what.ends_with("65520 more entries"), "{what}");
    }
}
