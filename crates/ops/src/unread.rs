//! Entries that a walk could not read: errors with paths, collected while the walk continues.
//!
//! Enters errors; leaves those about the image, in the order in which they were met. **Invariant:**
//! an error that is not about the image (of writing, of the system, a request to stop) is returned
//! to the walk and ends it; no more than [`MAX_ERRORS`] errors are kept, and the rest are counted.

use sinterfs_model::{Error, Result};
use sinterfs_platform::names;

/// The most errors that are kept one by one.
const MAX_ERRORS: usize = 1000;

/// The unreadable entries of an image.
#[derive(Debug, Default)]
pub struct Unread {
    errors: Vec<Error>,
    more: u64,
}

impl Unread {
    /// Keeps an error about the image, and returns any other. The path is added if the error has
    /// none.
    pub fn note(&mut self, path: &[u8], error: Error) -> Result<()> {
        if !error.is_about_image() {
            return Err(error);
        }
        if self.errors.len() < MAX_ERRORS {
            let path = if path.is_empty() { b"." } else { path };
            self.errors.push(match error.concerned_path() {
                Some(_) => error,
                None => error.path(names::path(path)),
            });
        } else {
            self.more += 1;
        }
        Ok(())
    }

    /// Keeps the error of a result, as [`Self::note`] does; returns its value.
    pub fn settle<T>(&mut self, path: &[u8], result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.note(path, error).map(|()| None),
        }
    }

    /// Returns whether everything could be read.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns the errors, and at the end one with the number of those that were not kept.
    pub fn into_errors(self) -> Vec<Error> {
        let Self { mut errors, more } = self;
        if more > 0 {
            let what = format!("{more} more entries cannot be read");
            errors.push(Error::corrupt(what));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use sinterfs_model::Kind;

    use super::*;

    #[test]
    fn damage_is_kept_with_its_path_and_the_rest_ends_the_walk() {
        let mut unread = Unread::default();
        assert!(unread.is_empty());
        for number in 0..=MAX_ERRORS {
            let error = Error::corrupt("no inode");
            unread
                .note(format!("d/{number}").as_bytes(), error)
                .unwrap();
        }
        let stop = Error::new(Kind::Cancelled, "stopped");
        assert_eq!(unread.note(b"d", stop).unwrap_err().kind(), Kind::Cancelled);
        let disk = Error::io("cannot write", std::io::ErrorKind::StorageFull);
        assert_eq!(unread.note(b"d", disk).unwrap_err().kind(), Kind::Io);
        let errors = unread.into_errors();
        assert_eq!(errors.len(), MAX_ERRORS + 1);
        assert_eq!(errors[7].concerned_path().unwrap().to_str(), Some("d/7"));
        assert!(errors[MAX_ERRORS].what().starts_with("1 more"));
    }
}
