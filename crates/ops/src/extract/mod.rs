//! Restores an image, or a part of it, below a directory.
//!
//! Enters an image and a selection; leaves files, and a report of failures. **Invariant:** nothing
//! outside the target is ever written: see `target`. Failures of single entries are reported to the
//! observer and counted; a partial file is removed.

mod completion;
mod content;
mod errors;
mod foreign;
mod further_names;
mod hidden_dirs;
mod job;
mod leftovers;
mod links;
mod lock;
mod metadata;
mod new_dirs;
mod new_file;
mod not_restored;
mod open_dirs;
mod options;
mod report;
mod salvage;
mod specials;
mod target;
mod unite;

use std::path::Path;

use sinterfs_model::{FileType, Image, Observer, Result, Stage, Tally};

use crate::plan::Item;
use crate::{select, workers};
use content::Files;
use further_names::FurtherNames;
use job::{Extraction, Kept, Losses};
use not_restored::NotRestored;
use report::{Counts, Loss, ReportedLosses};
use target::Target;

pub use options::{ExtractOptions, Overwrite};
pub use report::ExtractReport;

/// Restores the selected part of an image below a directory, which is made if it is missing.
///
/// An entry that can't be restored is reported and counted, and the extraction continues, if the
/// options say so; a full disk, a request to stop and an unusable target end the work with an
/// error.
pub fn extract(
    image: &dyn Image,
    target_dir: &Path,
    options: &ExtractOptions,
    observer: &dyn Observer,
) -> Result<ExtractReport> {
    let selection = select::Selection::new(&options.paths, &options.globs)?
        .without(&options.exclude)?
        .no_deeper(options.max_depth);
    let counts = Counts::default();
    let (plan, unsafe_names) = select::plan(image, &selection, options.strip)?;
    let mut target = Target::open(target_dir, &plan, options)?;
    if target.folds_case()? {
        target.refuse(foreign::clashes(&plan));
    }
    let job = Extraction {
        image,
        options,
        observer,
        plan: &plan,
        target: &target,
        counts: &counts,
        kept: Kept::default(),
        losses: Losses::default(),
        further_names: FurtherNames::new(&plan),
        reported: ReportedLosses::default(),
        not_restored: NotRestored::default(),
    };
    for error in unsafe_names.into_iter().chain(selection.unmatched()) {
        job.settle::<()>(Err(error))?;
    }
    job.compare_with_system()?;
    let done = Steps(&job).run();
    if done.is_err() {
        for (name_ref, error) in target.publish_all(&plan) {
            job.imperfect(error, name_ref);
        }
    }
    job.not_restored.report(&plan, observer);
    done?;
    Ok(counts.report())
}

/// Below this number, one thread makes names or finishes directories.
const MIN_PARALLEL: usize = 64;

/// The steps of an extraction, in this order.
struct Steps<'a>(&'a Extraction<'a>);

impl Steps<'_> {
    fn run(&self) -> Result<()> {
        // no file is needed to make directories, and none of them to cut files
        let (made, files) = sinterfs_workers::join(
            self.0.threads(),
            "directories",
            || self.directories(),
            || Files::new(self.0),
        );
        made?;
        self.0.target.hidden.expect(self.0.plan);
        self.specials()?;
        files.write_all()?;
        self.0.tell_losses();
        self.hidden_directories()?;
        self.directory_metadata()?;
        self.sync()
    }

    /// Waits until everything is on the disk, if requested. Without a call that covers all files,
    /// each file was synced by itself.
    fn sync(&self) -> Result<()> {
        if self.0.options.sync {
            self.0.target.sync(self.0.plan)?;
        }
        Ok(())
    }

    fn directories(&self) -> Result<()> {
        for (index, dir) in self.0.plan.dirs.iter().enumerate().skip(1) {
            self.0.pause()?;
            let inode = self.0.image.inode(dir.ino);
            let made =
                inode.and_then(|inode| self.0.target.make_dir(self.0.plan, index as u32, &inode));
            if self
                .0
                .settle(made.map_err(|error| self.0.locate(error, dir.name_ref)))?
                .is_some()
            {
                self.0.counts.add(|counts| counts.directories += 1);
            }
        }
        Ok(())
    }

    fn specials(&self) -> Result<()> {
        let leaves = (0_u32..).zip(&self.0.plan.leaves);
        let specials: Vec<(u32, &Item)> = leaves
            .filter(|(_, item)| item.kind != FileType::File)
            .collect();
        let one_dir = |a: &(u32, &Item), b: &(u32, &Item)| a.1.name_ref.dir == b.1.name_ref.dir;
        self.each(&specials, one_dir, |(index, item)| {
            let made = self.0.special(item);
            let made = match made {
                Err(error) if self.0.may_not(&error) => {
                    self.0.unmade(&error, item.name_ref);
                    Ok(None)
                }
                Err(error) if errors::is_impossible(&error) => {
                    let loss = match item.kind {
                        FileType::Symlink => Loss::Symlink,
                        _ => Loss::Special,
                    };
                    self.0.note_impossible(loss, error, item.name_ref);
                    Ok(None)
                }
                made => self
                    .0
                    .settle(made.map_err(|error| self.0.locate(error, item.name_ref))),
            };
            let made = made?;
            if made == Some(false) {
                self.0.keep(item.name_ref);
            }
            self.0.observer.advance(Stage::Extract, Tally::items(1));
            self.0.leaf_done(*index, || made.is_some())
        })
    }

    /// Runs `work` for each item on all threads; neighbours in one directory on one thread, since
    /// the kernel makes one name in a directory at a time.
    fn each<T: Sync>(
        &self,
        all: &[T],
        one_dir: impl Fn(&T, &T) -> bool,
        work: impl Fn(&T) -> Result<()> + Sync,
    ) -> Result<()> {
        let threads = match all.len() {
            // a thread costs as much as these
            0..MIN_PARALLEL => 1,
            _ => self.0.threads(),
        };
        let work = |(): &mut (), one: &T| work(one);
        workers::run(threads, all, one_dir, self.0.observer, || (), work)
    }

    /// Completes the hidden directories in which nothing but directories is, and with them all.
    fn hidden_directories(&self) -> Result<()> {
        let one_dir = |a: &u32, b: &u32| {
            let parent = |index: u32| self.0.plan.dir(index).name_ref.dir;
            parent(*a) == parent(*b)
        };
        let left = self.0.target.hidden.left();
        self.each(&left, one_dir, |top| self.0.complete_dir(*top))
    }

    /// Sets the metadata of directories that were not hidden, deepest first: permissions may close
    /// a directory to us.
    fn directory_metadata(&self) -> Result<()> {
        let all = self.0.options.selects_all() && self.0.options.strip == 0;
        let from = if all || self.0.target.made_root() {
            0
        } else {
            1
        };
        let depth = |index: u32| self.0.plan.depth(index);
        let dirs = (0_u32..).zip(&self.0.plan.dirs).skip(from);
        let is_left = |index: u32| {
            self.0.target.hidden.top(index).is_none() && self.0.target.came(index).is_some()
        };
        let dirs = dirs.filter(|(index, _)| is_left(*index));
        let mut dirs: Vec<(u32, &Item)> = dirs.collect();
        dirs.sort_by_key(|(index, _)| std::cmp::Reverse(depth(*index)));
        for level in dirs.chunk_by(|a, b| depth(a.0) == depth(b.0)) {
            let one_dir = |a: &(u32, &Item), b: &(u32, &Item)| a.1.name_ref.dir == b.1.name_ref.dir;
            self.each(level, one_dir, |(index, _)| self.0.finish_dir(*index))?;
        }
        Ok(())
    }
}
