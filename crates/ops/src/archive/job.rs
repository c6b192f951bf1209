//! One archive that is being written: what its writers share.
//!
//! **Invariant:** a failure is either returned, or reported to the observer and counted.

use std::sync::Mutex;

use sinterfs_model::{Error, FileType, Image, Kind, Observer, Result, Stage, Tally};

use super::options::ArchiveOptions;
use super::report::Counts;
use super::schedule::Schedule;
use super::sequence::Sequence;
use crate::plan::{NameRef, PathOfLast, Plan};

/// The plan of an archive, its options and its counts.
pub(super) struct ArchiveJob<'a> {
    pub(super) image: &'a dyn Image,
    pub(super) options: &'a ArchiveOptions,
    pub(super) observer: &'a dyn Observer,
    pub(super) plan: Plan,
    pub(super) sequence: Sequence,
    pub(super) schedule: Schedule,
    pub(super) counts: Counts,
    pub(super) last_path: Mutex<PathOfLast>,
}

impl ArchiveJob<'_> {
    /// Announces the total work to the observer.
    pub(super) fn expect(&self) -> Result<()> {
        let mut total = Tally::items(self.plan.leaves.len() as u64);
        for item in &self.plan.leaves {
            if item.kind == FileType::File {
                let allocated = self
                    .image
                    .inode(item.ino)
                    .map_or(0, |inode| inode.allocated);
                total.bytes = total.bytes.saturating_add(allocated);
            }
        }
        self.observer.expect(Stage::Extract, total);
        self.pause()
    }

    /// Stops if the observer requests it.
    pub(super) fn pause(&self) -> Result<()> {
        self.observer.check_cancelled()
    }

    /// Reports progress to the observer.
    pub(super) fn advance(&self, items: u64, bytes: u64) {
        let done = Tally::new(items, bytes, 0);
        self.observer.advance(Stage::Extract, done);
    }

    /// Adds the path to an error.
    pub(super) fn locate(&self, error: Error, name_ref: NameRef) -> Error {
        error.path(self.plan.path(name_ref))
    }

    /// Counts and reports a failure that leaves the rest possible, and returns any other.
    pub(super) fn settle<T>(&self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.options.continue_on_error && error.kind() != Kind::Cancelled => {
                self.observer.warn(&error);
                self.counts.add(|report| report.failed += 1);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Counts what an archive does not keep of any entry; fails if nothing may be lost.
    pub(super) fn lose(&self, losses: &[&'static str], name_ref: NameRef) -> Result<()> {
        for what in losses {
            self.refuse_loss(what, name_ref)?;
            self.counts.lose(what);
        }
        Ok(())
    }

    /// Names an entry that the archive does not have, or not whole; fails if nothing may be lost.
    pub(super) fn leave_out(&self, losses: &[&'static str], name_ref: NameRef) -> Result<()> {
        for what in losses {
            self.refuse_loss(what, name_ref)?;
            self.counts.leave_out(what, self.plan.path_bytes(name_ref));
        }
        Ok(())
    }

    fn refuse_loss(&self, what: &str, name_ref: NameRef) -> Result<()> {
        if self.options.strict {
            let error = Error::unsupported(format!("not kept: {what}"));
            return Err(self.locate(error, name_ref));
        }
        Ok(())
    }
}
