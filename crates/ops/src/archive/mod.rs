//! Writes an image, or a part of it, as an archive (tar, cpio) or as a list (mtree).
//!
//! Enters an image and a selection; leaves a stream of bytes, and a report of the losses.
//! **Invariant:** the bytes depend only on the image and the options, not on the number of threads
//! or the size of the cache; in the order of a walk, only on the tree. Unreadable content is
//! reported and counted, and the archive stays well-formed.

mod ahead;
mod job;
mod list;
mod names;
mod options;
mod report;
mod schedule;
mod sequence;
mod spill;
mod stream;
mod write;

use std::fs::File;
use std::io::Write;
use std::sync::Mutex;

use sinterfs_model::{Image, Observer, Result};

use crate::plan::Plan;
use crate::select::{self, Selection};
use job::ArchiveJob;
use report::Counts;
use schedule::Schedule;
use sequence::Sequence;

pub use options::{ArchiveFormat, ArchiveOptions, ArchiveOrder};
pub use report::ArchiveReport;

/// A planned archive: its entries, and the order in which their blocks are needed.
pub struct Archive<'a>(ArchiveJob<'a>);

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
        let selection = Selection::new(&options.paths, &options.globs)?
            .without(&options.exclude)?
            .no_deeper(options.max_depth);
        let (plan, refused) = select::plan(image, &selection, options.strip)?;
        let with_root = selection.is_empty() && options.strip == 0;
        let (sequence, mut schedule) = order(image, &plan, options, with_root)?;
        // ranges that are kept for much later are not read in order
        if schedule.bytes_at_once() > options.held && !image.info().checked_in_order {
            schedule.hold(image, &plan, &sequence, options.held)?;
        }
        let archive = ArchiveJob {
            image,
            options,
            observer,
            plan,
            sequence,
            schedule,
            counts: Counts::default(),
            last_path: Mutex::default(),
        };
        for error in refused.into_iter().chain(selection.unmatched()) {
            archive.settle::<()>(Err(error))?;
        }
        Ok(Self(archive))
    }

    /// Returns how many decoded bytes are needed when their blocks are no longer kept.
    pub fn later_bytes(&self) -> u64 {
        self.0.schedule.spill.bytes()
    }

    /// Keeps these bytes in an empty file. Without one, or if writing it fails, their blocks are
    /// decoded again.
    pub fn keep_in(&mut self, file: File) {
        self.0.schedule.spill.keep_in(file);
    }

    /// Writes all of it.
    pub fn write(&self, out: &mut dyn Write) -> Result<ArchiveReport> {
        self.0.expect()?;
        let length = match self.0.options.format {
            ArchiveFormat::Mtree => list::write(&self.0, out)?,
            _ => write::write(&self.0, out)?,
        };
        Ok(ArchiveReport {
            length,
            ..self.0.counts.report()
        })
    }
}

/// Chooses the order, and schedules the blocks.
fn order(
    image: &dyn Image,
    plan: &Plan,
    options: &ArchiveOptions,
    with_root: bool,
) -> Result<(Sequence, Schedule)> {
    /// Constant, so that the bytes do not depend on the size of the cache.
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
