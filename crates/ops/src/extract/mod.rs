//! Restores an image, or a part of it, below a directory.
//!
//! Enters an image and a selection; leaves files, and a report of failures. **Invariant:** nothing
//! outside the target is ever written: see `target`. Failures of single entries are reported to the
//! observer and counted; a partial file is removed.

mod content;
mod errors;
mod foreign;
mod job;
mod leftovers;
mod links;
mod lock;
mod metadata;
mod new_file;
mod not_restored;
mod open_dirs;
mod options;
mod report;
mod salvage;
mod specials;
mod target;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;

use sinterfs_model::{Error, FileType, Image, Observer, Result, Stage, Tally};
use sinterfs_platform::Directory;

use crate::plan::{Alias, Item};
use crate::{select, workers};
use content::Files;
use job::{Extraction, Kept, Losses};
use lock::lock;
use not_restored::NotRestored;
use report::{Counts, Loss, ReportedLosses};
use target::{Came, Target};

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
    let mut target = Target::open(target_dir, options)?;
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
        reported: ReportedLosses::default(),
        not_restored: NotRestored::default(),
    };
    for error in unsafe_names.into_iter().chain(selection.unmatched()) {
        job.settle::<()>(Err(error))?;
    }
    job.compare_with_system()?;
    let done = Steps(&job).run();
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
        files.write_all()?;
        let missing = files.missing();
        self.specials(&missing)?;
        self.aliases(&missing)?;
        self.0.tell_losses();
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

    fn specials(&self, missing: &Mutex<HashSet<u32>>) -> Result<()> {
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
            match made? {
                None => drop(lock(missing).insert(*index)),
                Some(false) => self.0.keep(item.name_ref),
                Some(true) => {}
            }
            self.0.observer.advance(Stage::Extract, Tally::items(1));
            Ok(())
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

    fn aliases(&self, missing: &Mutex<HashSet<u32>>) -> Result<()> {
        let missing = lock(missing);
        let one_dir = |a: &Alias, b: &Alias| a.name_ref.dir == b.name_ref.dir;
        self.each(&self.0.plan.aliases, one_dir, |alias| {
            let made = if missing.contains(&alias.first) {
                Err(Error::not_found(
                    "the first name of this hard link was not restored",
                ))
            } else {
                self.0.alias(alias)
            };
            self.0
                .settle(made.map_err(|error| self.0.locate(error, alias.name_ref)))?;
            Ok(())
        })
    }

    fn finish_dir(&self, index: u32, dir: &Item, fd: &Directory) -> Result<()> {
        self.0.target.remove_leftovers(self.0.plan, index, fd);
        if self.0.target.came(index) != Some(Came::Kept) {
            let inode = self.0.image.inode(dir.ino)?;
            metadata::of_open(self.0, fd.as_file(), dir.name_ref, &inode);
        }
        Ok(())
    }

    /// Sets the metadata of directories, deepest first: permissions may close a directory to us.
    fn directory_metadata(&self) -> Result<()> {
        let all = self.0.options.selects_all() && self.0.options.strip == 0;
        let from = if all || self.0.target.made_root() {
            0
        } else {
            1
        };
        let depth = |index: u32| self.0.plan.depth(index);
        let dirs = (0_u32..).zip(&self.0.plan.dirs).skip(from);
        let dirs = dirs.filter(|(index, _)| self.0.target.came(*index).is_some());
        let mut dirs: Vec<(u32, &Item)> = dirs.collect();
        dirs.sort_by_key(|(index, _)| std::cmp::Reverse(depth(*index)));
        for level in dirs.chunk_by(|a, b| depth(a.0) == depth(b.0)) {
            let one_dir = |a: &(u32, &Item), b: &(u32, &Item)| a.1.name_ref.dir == b.1.name_ref.dir;
            self.each(level, one_dir, |(index, dir)| {
                let done = self.0.target.reopen_dir(self.0.plan, *index);
                let is_kept = self.0.target.came(*index) == Some(Came::Kept);
                let done = match done {
                    // the user who keeps it may not be allowed to read it
                    Err(_) if is_kept => Ok(()),
                    done => done.and_then(|fd| self.finish_dir(*index, dir, &fd)),
                };
                self.0
                    .settle(done.map_err(|error| self.0.locate(error, dir.name_ref)))?;
                Ok(())
            })?;
        }
        Ok(())
    }
}
