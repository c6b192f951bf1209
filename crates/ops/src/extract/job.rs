//! One extraction: what its steps share.
//!
//! **Invariant:** a failure is either returned, or reported to the observer and counted.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::Mutex;

use sinterfs_model::{Error, Image, Kind, Observer, Result};

use super::errors::ends_all;
use super::further_names::FurtherNames;
use super::lock::lock;
use super::not_restored::NotRestored;
use super::options::ExtractOptions;
use super::report::{Counts, ReportedLosses};
use super::target::Target;
use crate::plan::{NameRef, Plan};
use crate::workers;

/// All that the steps of one extraction share.
pub(crate) struct Extraction<'a> {
    pub(crate) image: &'a dyn Image,
    pub(crate) options: &'a ExtractOptions,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) plan: &'a Plan,
    pub(crate) target: &'a Target,
    pub(crate) counts: &'a Counts,
    pub(crate) kept: Kept,
    pub(crate) losses: Losses,
    pub(crate) further_names: FurtherNames,
    pub(crate) reported: ReportedLosses,
    pub(crate) not_restored: NotRestored,
}

/// The losses of each file, by inode.
#[derive(Debug, Default)]
pub(crate) struct Losses(pub(crate) Mutex<HashMap<u64, LostBytes>>);

/// The losses of a file.
#[derive(Debug)]
pub(crate) struct LostBytes {
    pub(crate) bytes: u64,
    pub(crate) first: Error,
}

/// First names whose existing files were kept, by when the walk met them; each with the further
/// name that has the content of the image instead, once there is one.
#[derive(Debug, Default)]
pub(crate) struct Kept(pub(crate) Mutex<HashMap<usize, Option<NameRef>>>);

impl Extraction<'_> {
    /// Stops if the observer requests it.
    pub(crate) fn pause(&self) -> Result<()> {
        self.observer.check_cancelled()
    }

    /// Adds the path to an error.
    pub(crate) fn locate(&self, error: Error, name_ref: NameRef) -> Error {
        error.path(self.plan.path(name_ref))
    }

    /// Counts a file that was kept, to which no further name of the image's file may be linked.
    pub(crate) fn keep(&self, name_ref: NameRef) {
        self.counts.add(|counts| counts.kept += 1);
        lock(&self.kept.0).insert(name_ref.order(), None);
    }

    /// Counts and reports a failure that leaves the rest possible, and returns any other.
    pub(crate) fn settle<T>(&self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.options.continue_on_error && !ends_all(&error) => {
                self.observer.warn(&error);
                self.counts.add(|counts| counts.failed += 1);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reports and counts an entry that was restored without some of its metadata.
    pub(crate) fn imperfect(&self, error: Error, name_ref: NameRef) {
        self.observer.warn(&self.locate(error, name_ref));
        self.counts.add(|counts| counts.imperfect += 1);
    }

    /// Counts an entry some of whose metadata could not be set, and remembers it to be reported.
    pub(crate) fn unset(&self, what: &str, error: &std::io::Error, name_ref: NameRef) {
        self.counts.add(|counts| counts.imperfect += 1);
        self.not_restored
            .add(format!("{what}: {error}"), Kind::Io, name_ref);
    }

    /// Counts an entry that this process may not make, and remembers it to be reported.
    pub(crate) fn unmade(&self, error: &Error, name_ref: NameRef) {
        self.counts.add(|counts| counts.failed += 1);
        let what = match error.io_source() {
            Some(source) => format!("{}: {source}", error.what()),
            None => error.what().to_owned(),
        };
        self.not_restored.add(what, Kind::Io, name_ref);
    }

    /// Returns whether an error means only missing permission, so that the rest can continue.
    pub(crate) fn may_not(&self, error: &Error) -> bool {
        let kind = error.io_source().map(std::io::Error::kind);
        self.options.continue_on_error && kind == Some(ErrorKind::PermissionDenied)
    }

    /// The number of threads to use.
    pub(crate) fn threads(&self) -> usize {
        workers::thread_count(self.options.threads)
    }
}
