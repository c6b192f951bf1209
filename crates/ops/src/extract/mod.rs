//! Restores an image, or a part of it, below a directory.
//!
//! Enters an image and what of it is wanted; leaves files, and a report of what did not work.
//! **Invariant:** nothing outside the target is ever written: see `target`. What fails for one
//! entry is reported to the observer and counted; a partial file is removed.

mod content;
mod metadata;
mod options;
mod report;
mod target;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;

use sinterfs_model::{Error, FileType, Image, Kind, Observer, Result, Stage, Tally};

use crate::plan::{Alias, Item, Plan, Spot};
use crate::{select, workers};
use content::Files;
use report::Counts;
use target::Target;

pub use options::{ExtractOptions, Overwrite};
pub use report::ExtractReport;

/// Restores the selected part of an image below a directory, which is made if it is missing.
///
/// An entry that can't be restored is warned of and counted, and the rest goes on, if the options
/// say so; a full disk, a request to stop and an unusable target end the work with an error.
pub fn extract(
    image: &dyn Image,
    target_dir: &Path,
    options: &ExtractOptions,
    observer: &dyn Observer,
) -> Result<ExtractReport> {
    let selection = select::Selection::new(&options.paths, &options.globs)?;
    let counts = Counts::default();
    let (plan, unsafe_names) = select::plan(image, &selection, options.strip)?;
    let target = Target::open(target_dir, options)?;
    let job = Extraction {
        image,
        options,
        observer,
        plan: &plan,
        target: &target,
        counts: &counts,
    };
    for error in unsafe_names.into_iter().chain(selection.unmatched()) {
        job.settle::<()>(Err(error))?;
    }
    job.all()?;
    Ok(counts.report())
}

/// So many names are made, or directories finished, by one thread.
const FEW: usize = 64;

/// All that the steps of one extraction share.
pub(crate) struct Extraction<'a> {
    pub(crate) image: &'a dyn Image,
    pub(crate) options: &'a ExtractOptions,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) plan: &'a Plan,
    pub(crate) target: &'a Target,
    pub(crate) counts: &'a Counts,
}

impl Extraction<'_> {
    fn all(&self) -> Result<()> {
        // no file is needed to make directories, and none of them to cut files
        let (made, files) = sinterfs_workers::join(
            self.threads(),
            "directories",
            || self.directories(),
            || Files::new(self),
        );
        made?;
        files.write_all()?;
        let missing = files.missing();
        self.specials(&missing)?;
        self.aliases(&missing)?;
        self.directory_metadata()
    }

    fn directories(&self) -> Result<()> {
        for (index, dir) in self.plan.dirs.iter().enumerate().skip(1) {
            self.pause()?;
            let made = self.target.make_dir(self.plan, index as u32);
            if self
                .settle(made.map_err(|error| self.locate(error, dir.spot)))?
                .is_some()
            {
                self.counts.add(|counts| counts.directories += 1);
            }
        }
        Ok(())
    }

    fn specials(&self, missing: &Mutex<HashSet<u32>>) -> Result<()> {
        let leaves = (0_u32..).zip(&self.plan.leaves);
        let specials: Vec<(u32, &Item)> = leaves
            .filter(|(_, item)| item.kind != FileType::File)
            .collect();
        let one_dir = |a: &(u32, &Item), b: &(u32, &Item)| a.1.spot.dir == b.1.spot.dir;
        self.each(&specials, one_dir, |(index, item)| {
            let made = self
                .special(item)
                .map_err(|error| self.locate(error, item.spot));
            if self.settle(made)?.is_none() {
                lock(missing).insert(*index);
            }
            self.observer.advance(Stage::Extract, Tally::items(1));
            Ok(())
        })
    }

    /// Does something for each of many, on all threads; neighbours in one directory by one thread,
    /// since the kernel makes one name in a directory at a time.
    fn each<T: Sync>(
        &self,
        all: &[T],
        one_dir: impl Fn(&T, &T) -> bool,
        work: impl Fn(&T) -> Result<()> + Sync,
    ) -> Result<()> {
        let threads = match all.len() {
            // a thread costs as much as these
            0..FEW => 1,
            _ => self.threads(),
        };
        let work = |(): &mut (), one: &T| work(one);
        workers::run(threads, all, one_dir, self.observer, || (), work)
    }

    /// Makes what has no content.
    fn special(&self, item: &Item) -> Result<()> {
        let inode = item.inode(self.image)?;
        let dir = self.target.dir(self.plan, item.spot.dir)?;
        let name = self.plan.name(item.spot);
        let made = if item.kind == FileType::Symlink {
            self.target
                .make_symlink(&dir, name, &self.image.read_link(item.ino)?)
        } else {
            self.target.make_special(&dir, name, &inode)
        }?;
        if !made {
            self.counts.add(|counts| counts.kept += 1);
            return Ok(());
        }
        self.counts.add(|counts| match item.kind {
            FileType::Symlink => counts.symlinks += 1,
            _ => counts.specials += 1,
        });
        metadata::of_name(self, &dir, item, &inode);
        Ok(())
    }

    fn aliases(&self, missing: &Mutex<HashSet<u32>>) -> Result<()> {
        let missing = lock(missing);
        let one_dir = |a: &Alias, b: &Alias| a.spot.dir == b.spot.dir;
        self.each(&self.plan.aliases, one_dir, |alias| {
            let made = match missing.contains(&alias.first) {
                true => Err(Error::not_found(
                    "the first name of this hard link was not restored",
                )),
                false => self.alias(alias),
            };
            self.settle(made.map_err(|error| self.locate(error, alias.spot)))?;
            Ok(())
        })
    }

    fn alias(&self, alias: &Alias) -> Result<()> {
        let first = self.plan.leaf(alias.first);
        let from = self.target.dir(self.plan, first.spot.dir)?;
        let to = self.target.dir(self.plan, alias.spot.dir)?;
        let (old, new) = (self.plan.name(first.spot), self.plan.name(alias.spot));
        let made = match self.target.make_link(&from, old, &to, new) {
            // The file system has no hard links, or no more of them: a copy is the next best.
            Err(error) if target::no_links(&error) => {
                let copy = Item {
                    spot: alias.spot,
                    ..*first
                };
                return match first.kind {
                    FileType::File => content::write_copy(self, &copy),
                    _ => self.special(&copy),
                };
            }
            other => other?,
        };
        self.counts.add(|counts| match made {
            true => counts.links += 1,
            false => counts.kept += 1,
        });
        Ok(())
    }

    /// Deepest first, so that no directory is closed to us before what is in it is done.
    fn directory_metadata(&self) -> Result<()> {
        let all = self.options.selects_all() && self.options.strip == 0;
        let from = if all || self.target.made_root() { 0 } else { 1 };
        let mut depths: Vec<u32> = Vec::with_capacity(self.plan.dirs.len());
        for dir in &self.plan.dirs {
            let above = depths.get(dir.spot.dir as usize).copied();
            depths.push(above.map_or(0, |above| above + 1));
        }
        let depth = |index: u32| depths.get(index as usize).copied().unwrap_or(0);
        let dirs = (0_u32..).zip(&self.plan.dirs).skip(from);
        let dirs = dirs.filter(|(index, _)| self.target.made_dir(*index));
        let mut dirs: Vec<(u32, &Item)> = dirs.collect();
        dirs.sort_by_key(|(index, _)| std::cmp::Reverse(depth(*index)));
        for level in dirs.chunk_by(|a, b| depth(a.0) == depth(b.0)) {
            let one_dir = |a: &(u32, &Item), b: &(u32, &Item)| a.1.spot.dir == b.1.spot.dir;
            self.each(level, one_dir, |(index, dir)| {
                let done = self.target.reopen_dir(self.plan, *index);
                let done = done.and_then(|fd| {
                    metadata::of_open(self, &fd, dir.spot, &self.image.inode(dir.ino)?);
                    Ok(())
                });
                self.settle(done.map_err(|error| self.locate(error, dir.spot)))?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Stops if asked to.
    fn pause(&self) -> Result<()> {
        match self.observer.cancelled() {
            true => Err(Error::new(Kind::Cancelled, "stopped on request")),
            false => Ok(()),
        }
    }

    /// Adds the path to an error.
    pub(crate) fn locate(&self, error: Error, spot: Spot) -> Error {
        error.path(self.plan.path(spot))
    }

    /// Counts and reports a failure that leaves the rest possible, and returns any other.
    pub(crate) fn settle<T>(&self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.options.continue_on_error && !target::ends_all(&error) => {
                self.observer.warn(&error);
                self.counts.add(|counts| counts.failed += 1);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns of something that was restored in part.
    pub(crate) fn imperfect(&self, error: Error, spot: Spot) {
        self.observer.warn(&self.locate(error, spot));
        self.counts.add(|counts| counts.imperfect += 1);
    }

    /// The number of threads to use.
    pub(crate) fn threads(&self) -> usize {
        workers::thread_count(self.options.threads)
    }
}

/// Locks what no thread leaves in a bad state.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
