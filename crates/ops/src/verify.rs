//! Walks an image and reads everything in it.
//!
//! Enters an image, leaves a count of problems; each is reported to the observer with its path.
//! **Invariant:** a problem ends nothing but what it concerns; only a tree that can't be walked
//! and a request to stop end the work.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{Error, FileType, Image, Ino, Kind, Observer, Result, Stage, Tally};

use crate::jobs::{Job, Jobs};
use crate::plan::{Item, Plan, everything};
use crate::runs::{Run, runs};
use crate::walk::WalkEntry;
use crate::workers;

const CHUNK: usize = 1 << 20;

/// Counts of the files and bytes that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Names of everything, directories too; the root has none.
    pub entries: u64,
    /// Regular files, each once.
    pub files: u64,
    /// Bytes read, holes left out.
    pub bytes: u64,
    /// Problems; each was reported to the observer.
    pub problems: u64,
}

/// Reads everything in an image with `threads` threads (0: one for each processor).
pub fn verify(image: &dyn Image, threads: usize, observer: &dyn Observer) -> Result<VerifyReport> {
    let problems = AtomicU64::new(0);
    let check = Check {
        image,
        observer,
        problems: &problems,
        bytes: AtomicU64::new(0),
    };
    let mut links: HashMap<Ino, (u32, u32)> = HashMap::new();
    let mut last: Vec<Vec<u8>> = Vec::new();
    let mut dirs = vec![image.info().root];
    let mut entries = 0_u64;

    let plan = everything(image, image.info().root, &mut |entry, broken| {
        if let Some(error) = broken {
            return check.note(entry.path, Err(error));
        }
        entries += 1;
        dirs.truncate(entry.depth + 1);
        last.resize(entry.depth + 1, Vec::new());
        if let (Some(&dir), Some(before)) = (dirs.last(), last.last_mut()) {
            check.note(entry.path, check.entry(dir, before, entry, &mut links))?;
            before.clear();
            before.extend_from_slice(entry.name);
        }
        if entry.kind == FileType::Directory {
            dirs.push(entry.ino);
        }
        observer.check_cancelled()
    })?;
    for (ino, (nlink, seen)) in links {
        let wrong = || {
            Error::corrupt(format!(
                "inode {} has {seen} names, expected {nlink}",
                ino.0
            ))
        };
        check.note(b"", if nlink == seen { Ok(()) } else { Err(wrong()) })?;
    }
    let files = check.contents(&plan, threads)?;
    let bytes = check.bytes.into_inner();
    Ok(VerifyReport {
        entries,
        files,
        bytes,
        problems: problems.into_inner(),
    })
}

struct Check<'a> {
    image: &'a dyn Image,
    observer: &'a dyn Observer,
    problems: &'a AtomicU64,
    bytes: AtomicU64,
}

impl Check<'_> {
    /// Reports a problem and counts it; a request to stop is returned to the caller.
    fn note(&self, path: &[u8], result: Result<()>) -> Result<()> {
        match result {
            Err(error) if error.kind() == Kind::Cancelled => Err(error),
            Err(error) => {
                let error = if path.is_empty() {
                    error
                } else {
                    error.path(sinterfs_platform::names::path(path))
                };
                self.observer.warn(&error);
                self.problems.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Checks one name: its form and order, that it is found, and the fields of `stat` of its
    /// inode.
    fn entry(
        &self,
        dir: Ino,
        before: &[u8],
        entry: &WalkEntry<'_>,
        links: &mut HashMap<Ino, (u32, u32)>,
    ) -> Result<()> {
        let name = entry.name;
        let bad = |&byte: &u8| byte == b'/' || byte == 0;
        if name.is_empty() || name == b"." || name == b".." || name.iter().any(bad) {
            return Err(Error::corrupt("that can't be the name of a file"));
        }
        if before >= name {
            return Err(Error::corrupt("the names of a directory are not in order"));
        }
        if self.image.lookup(dir, name)? != Some(entry.ino) {
            return Err(Error::corrupt("the name is listed but not found"));
        }
        let inode = self.image.inode(entry.ino)?;
        if inode.kind != entry.kind {
            return Err(Error::corrupt(
                "the types of the directory entry and the inode differ",
            ));
        }
        self.image.xattrs(entry.ino)?;
        match inode.kind {
            FileType::Directory if self.image.parent(entry.ino)? != dir => {
                Err(Error::corrupt("the directory has another parent"))
            }
            FileType::Directory => Ok(()),
            kind => {
                links.entry(entry.ino).or_insert((inode.nlink, 0)).1 += 1;
                if inode.nlink == 1 {
                    links.remove(&entry.ino);
                }
                if kind == FileType::Symlink
                    && self.image.read_link(entry.ino)?.len() as u64 != inode.size
                {
                    return Err(Error::corrupt(
                        "the size of the symlink is not its target's",
                    ));
                }
                Ok(())
            }
        }
    }

    /// Reads the content of all files and returns their number.
    fn contents(&self, plan: &Plan, threads: usize) -> Result<u64> {
        // nothing is lost by reading a file in many parts
        let jobs = Jobs::of(plan, self.image, 0);
        let mut expected = Tally::default();
        for item in plan
            .leaves
            .iter()
            .filter(|item| item.kind == FileType::File)
        {
            expected.items += 1;
            let allocated = self.image.inode(item.ino)?.allocated;
            expected.bytes = expected.bytes.saturating_add(allocated);
        }
        self.observer.expect(Stage::Verify, expected);
        // A file of several parts with several problems is one problem.
        let reported = Mutex::new(std::collections::HashSet::new());
        let buffer = || vec![0; CHUNK];
        let same = Job::same_block;
        workers::run(
            threads,
            &jobs.list,
            same,
            self.observer,
            buffer,
            |buf, job| {
                let item = plan.leaf(job.leaf);
                let mut ranges = jobs.ranges(job).iter();
                let read = ranges.try_for_each(|range| self.read(item, range, buf));
                jobs.done(plan, self.image, job);
                if job.first {
                    self.observer.advance(Stage::Verify, Tally::items(1));
                }
                let mut reported = reported
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                if read.is_err() && !reported.insert(job.leaf) {
                    return Ok(());
                }
                self.note(&plan.path_bytes(item.name_ref), read)
            },
        )?;
        Ok(expected.items)
    }

    fn read(&self, item: &Item, range: &Range<u64>, buf: &mut [u8]) -> Result<()> {
        runs(self.image, item.ino, range.clone(), &mut |run| match run {
            Run::Data(range) => self.read_data(item.ino, range, buf),
            Run::Hole(_) => Ok(()),
        })
    }

    fn read_data(&self, ino: Ino, range: Range<u64>, buf: &mut [u8]) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            self.observer.check_cancelled()?;
            let len = usize::try_from(range.end - at).map_or(buf.len(), |len| len.min(buf.len()));
            let count = self.image.read_at(ino, at, buf.split_at_mut(len).0)?;
            if count == 0 {
                return Err(Error::corrupt("a file ends before its size"));
            }
            at += count as u64;
            self.bytes.fetch_add(count as u64, Ordering::Relaxed);
            let done = Tally::bytes(count as u64);
            self.observer.advance(Stage::Verify, done);
        }
        Ok(())
    }
}
