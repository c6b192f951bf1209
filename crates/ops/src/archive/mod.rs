//! Writes an image, or a part of it, as an archive (tar, cpio) or as a list (mtree).
//!
//! Enters an image and what of it is wanted; leaves a stream of bytes, and a report of what is not
//! in it. **Invariant:** the bytes depend on the image and the options alone, not on the number of
//! threads or the size of the cache; where names come as a walk meets them, on nothing but the
//! tree. What can't be read is reported and counted, and the archive stays whole.

mod ahead;
mod later;
mod list;
mod names;
mod options;
mod report;
mod schedule;
mod sequence;
mod stream;
mod write;

use std::fs::File;
use std::io::Write;

use sinterfs_model::{Error, FileType, Image, Kind, Observer, Result, Stage, Tally};

use crate::plan::{Plan, Spot};
use crate::select::{self, Selection};
use report::Counts;
use schedule::Schedule;
use sequence::Sequence;

pub use options::{ArchiveFormat, ArchiveOptions, ArchiveOrder};
pub use report::ArchiveReport;

/// An archive that is planned: what goes into it, and in which order blocks are needed.
pub struct Archive<'a> {
    image: &'a dyn Image,
    options: &'a ArchiveOptions,
    observer: &'a dyn Observer,
    plan: Plan,
    sequence: Sequence,
    schedule: Schedule,
    counts: Counts,
}

impl std::fmt::Debug for Archive<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").finish_non_exhaustive()
    }
}

impl<'a> Archive<'a> {
    /// Plans an archive of the selected part of an image.
    ///
    /// Names that can't be used and selections that select nothing are warned of and counted, if
    /// the options say so, else errors.
    pub fn plan(
        image: &'a dyn Image,
        options: &'a ArchiveOptions,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let selection = Selection::new(&options.paths, &options.globs)?;
        let (plan, refused) = select::plan(image, &selection, options.strip)?;
        let with_root = selection.is_empty() && options.strip == 0;
        let (sequence, mut schedule) = order(image, &plan, options, with_root)?;
        if schedule.bytes_at_once() > options.held {
            schedule.hold(image, &plan, &sequence, options.held)?;
        }
        let archive = Self {
            image,
            options,
            observer,
            plan,
            sequence,
            schedule,
            counts: Counts::default(),
        };
        for error in refused.into_iter().chain(selection.unmatched()) {
            archive.settle::<()>(Err(error))?;
        }
        Ok(archive)
    }

    /// Returns how many decoded bytes are needed when their blocks are no longer kept.
    pub fn later_bytes(&self) -> u64 {
        self.schedule.later.bytes()
    }

    /// Keeps such bytes in an empty file. Without one, and where it fails, their blocks are decoded
    /// again.
    pub fn keep_in(&mut self, file: File) {
        self.schedule.later.keep_in(file);
    }

    /// Writes all of it.
    pub fn write(&self, out: &mut dyn Write) -> Result<ArchiveReport> {
        self.expect()?;
        let length = match self.options.format {
            ArchiveFormat::Mtree => list::write(self, out)?,
            _ => write::write(self, out)?,
        };
        Ok(ArchiveReport {
            length,
            ..self.counts.report()
        })
    }

    fn expect(&self) -> Result<()> {
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

    /// Stops if asked to.
    fn pause(&self) -> Result<()> {
        match self.observer.cancelled() {
            true => Err(Error::new(Kind::Cancelled, "stopped on request")),
            false => Ok(()),
        }
    }

    fn advance(&self, items: u64, bytes: u64) {
        let done = Tally::new(items, bytes, 0);
        self.observer.advance(Stage::Extract, done);
    }

    /// Adds the path to an error.
    fn locate(&self, error: Error, spot: Spot) -> Error {
        error.path(self.plan.path(spot))
    }

    /// Counts and reports a failure that leaves the rest possible, and returns any other.
    fn settle<T>(&self, result: Result<T>) -> Result<Option<T>> {
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

    /// Counts what is not kept of an entry; an error if nothing may be lost.
    fn lose(&self, losses: &[&'static str], spot: Spot) -> Result<()> {
        for what in losses {
            if self.options.strict {
                let error = Error::unsupported(format!("not kept: {what}"));
                return Err(self.locate(error, spot));
            }
            self.counts.lose(what);
        }
        Ok(())
    }
}

/// Chooses the order, and finds out which blocks are needed when.
fn order(
    image: &dyn Image,
    plan: &Plan,
    options: &ArchiveOptions,
    with_root: bool,
) -> Result<(Sequence, Schedule)> {
    /// No option has a say in it: the bytes must not depend on the size of the cache.
    const FITTING: u64 = 256 << 20;
    let format = options.format;
    if format == ArchiveFormat::Mtree {
        let sequence = Sequence::of_walk(plan, format, with_root)?;
        return Ok((sequence, Schedule::default()));
    }
    if options.order != ArchiveOrder::Image {
        let sequence = Sequence::of_walk(plan, format, with_root)?;
        let schedule = Schedule::new(image, plan, &sequence)?;
        if options.order == ArchiveOrder::Path || schedule.bytes_at_once() <= FITTING {
            return Ok((sequence, schedule));
        }
    }
    let sequence = Sequence::of_image(image, plan, format, with_root)?;
    let schedule = Schedule::new(image, plan, &sequence)?;
    Ok((sequence, schedule))
}
