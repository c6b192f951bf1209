//! Writes the content of files, on all threads, in the order of the blocks it comes from.
//!
//! **Invariant:** a file is either whole, with its metadata, or not there, also if the process is
//! killed or close(2) reports that something is not written; memory is 1 MiB a thread, or 4 MiB for
//! extents as long as that, and at most one file a thread is open.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Mutex;

use sinterfs_model::{Error, FileType, Inode, Result, Setting, Stage, Tally};
use sinterfs_platform::{Directory, files};

use super::job::Extraction;
use super::lock::lock;
use super::metadata;
use super::new_file::{NewFile, Published, Ticket};
use crate::jobs::{Job, Jobs};
use crate::plan::Item;
use crate::runs::{Run, runs_up_to};
use crate::workers;

/// Bytes per read; an extent up to `EXTENT`, so that each is decoded once.
const CHUNK: usize = 1 << 20;
const EXTENT: usize = 4 << 20;

/// The files of an extraction and how far they are.
pub(crate) struct Files<'a> {
    work: &'a Extraction<'a>,
    jobs: Jobs,
    /// Files that consist of several jobs.
    parted: HashMap<u32, Mutex<Parted>>,
    /// Files that could not be written.
    missing: Mutex<HashSet<u32>>,
    /// Files whose holes would be more zeros than the limit.
    hollow: HashSet<u32>,
}

/// A file that several threads write.
#[derive(Debug)]
struct Parted {
    left: usize,
    state: PartState,
}

#[derive(Debug)]
enum PartState {
    Unmade,
    Open(Ticket),
    /// Failed, or kept as it was: nothing is left to do.
    Closed,
}

impl<'a> Files<'a> {
    /// Cuts the files of a plan into jobs.
    pub(crate) fn new(work: &'a Extraction<'a>) -> Self {
        let jobs = Jobs::of(work.plan, work.image, work.options.cached);
        let mut parted: HashMap<u32, Mutex<Parted>> = HashMap::new();
        for job in jobs.list.iter().filter(|job| !job.whole) {
            let entry = parted.entry(job.leaf);
            let file = entry.or_insert_with(|| {
                Mutex::new(Parted {
                    left: 0,
                    state: PartState::Unmade,
                })
            });
            file.get_mut()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .left += 1;
        }
        let mut total = Tally::items(work.plan.leaves.len() as u64);
        for job in jobs.list.iter().filter(|job| job.first) {
            let inode = work.image.inode(work.plan.leaf(job.leaf).ino);
            let allocated = inode.map_or(0, |inode| inode.allocated);
            total.bytes = total.bytes.saturating_add(allocated);
        }
        work.observer.expect(Stage::Extract, total);
        Self {
            work,
            jobs,
            parted,
            missing: Mutex::default(),
            hollow: hollow(work),
        }
    }

    /// Writes all files.
    pub(crate) fn write_all(&self) -> Result<()> {
        let threads = self.work.threads();
        let buffer = || vec![0; CHUNK];
        let done = workers::run(
            threads,
            &self.jobs.list,
            Job::same_block,
            self.work.observer,
            buffer,
            |buf, job| self.write_job(buf, job),
        );
        if done.is_err() {
            self.discard_partial();
        }
        done
    }

    fn write_job(&self, buf: &mut Vec<u8>, job: &Job) -> Result<()> {
        let item = self.work.plan.leaf(job.leaf);
        if self.hollow.contains(&job.leaf) {
            return self.refuse_hollow(job, item);
        }
        let mut is_last = true;
        let done = match self.parted.get(&job.leaf) {
            None => write_whole(self.work, item, buf).map(|written| {
                if !written {
                    self.work.keep(item.name_ref);
                }
            }),
            Some(parted) => {
                let ranges = self.jobs.ranges(job);
                self.write_part(parted, item, ranges, buf, &mut is_last)
            }
        };
        self.jobs.done(self.work.plan, self.work.image, job);
        let done = done.map_err(|error| self.work.locate(error, item.name_ref));
        if done.is_err() {
            lock(&self.missing).insert(job.leaf);
        }
        self.work.settle(done)?;
        if is_last {
            let is_there = || !lock(&self.missing).contains(&job.leaf);
            self.work.leaf_done(job.leaf, is_there)?;
        }
        Ok(())
    }

    /// Reports a file with too many holes, once.
    fn refuse_hollow(&self, job: &Job, item: &Item) -> Result<()> {
        if lock(&self.missing).insert(job.leaf) {
            let option = Setting("max_zeros");
            let what = format!("the holes would be more zeros than {option} allows");
            let error = Error::limit(what).about([option]);
            self.work
                .settle::<()>(Err(self.work.locate(error, item.name_ref)))?;
            self.work.observer.advance(Stage::Extract, Tally::items(1));
            self.work.leaf_done(job.leaf, || false)?;
        }
        Ok(())
    }

    /// Writes a part of a file; `is_last` becomes whether no other one is left.
    fn write_part(
        &self,
        parted: &Mutex<Parted>,
        item: &Item,
        ranges: &[Range<u64>],
        buf: &mut Vec<u8>,
        is_last: &mut bool,
    ) -> Result<()> {
        let work = self.work;
        // even after a failure the part counts as done, and the file is closed
        let done = item.inode(work.image).and_then(|inode| {
            let Some(new) = begin_part(work, parted, item, &inode)? else {
                return Ok(None);
            };
            for range in ranges {
                write_range(work, &new, &inode, range.clone(), buf)?;
            }
            Ok(Some((new, inode)))
        });

        let mut parted = lock(parted);
        parted.left -= 1;
        let last = parted.left == 0;
        *is_last = last;
        let name = work.plan.name(item.name_ref);
        let dir = || work.target.dir(work.plan, item.name_ref.dir);
        let done = match done {
            Ok(Some((new, inode))) if last && matches!(parted.state, PartState::Open(_)) => {
                let written = dir().and_then(|dir| finish(work, &dir, item, new, &inode, None));
                written.map(|written| {
                    if !written {
                        work.keep(item.name_ref);
                    }
                })
            }
            Ok(Some((new, _))) => new.close(),
            other => other.map(drop),
        };
        if done.is_err() {
            match std::mem::replace(&mut parted.state, PartState::Closed) {
                PartState::Open(ticket) => {
                    work.target.discard(&*dir()?, ticket.name_now(name))?;
                }
                PartState::Unmade => {}
                // the first failure was reported; the rest of the file fails with it
                PartState::Closed => return Ok(()),
            }
        }
        if last {
            work.observer.advance(Stage::Extract, Tally::items(1));
        }
        done
    }

    fn discard_partial(&self) {
        for (&leaf, parted) in &self.parted {
            let parted = lock(parted);
            let PartState::Open(ticket) = &parted.state else {
                continue;
            };
            if parted.left == 0 {
                continue;
            }
            let name_ref = self.work.plan.leaf(leaf).name_ref;
            let name = ticket.name_now(self.work.plan.name(name_ref));
            let dir = self.work.target.dir(self.work.plan, name_ref.dir);
            let done = dir.and_then(|dir| self.work.target.discard(&dir, name));
            if let Err(error) = done {
                self.work.imperfect(error, name_ref);
            }
        }
    }
}

/// Returns the files whose holes exceed the limit of zeros, in the order of the plan.
fn hollow(work: &Extraction<'_>) -> HashSet<u32> {
    let mut hollow = HashSet::new();
    if work.options.sparse {
        return hollow;
    }
    let mut left = work.options.max_zeros;
    for (index, item) in (0_u32..).zip(&work.plan.leaves) {
        if item.kind != FileType::File {
            continue;
        }
        // what cannot be read is reported when it is restored
        let holes = work
            .image
            .inode(item.ino)
            .map_or(0, |inode| inode.size.saturating_sub(inode.allocated));
        match left.checked_sub(holes) {
            Some(rest) => left = rest,
            None => drop(hollow.insert(index)),
        }
    }
    hollow
}

/// Makes a file of several parts, or opens it again; `None` if nothing is left to do for it.
fn begin_part(
    work: &Extraction<'_>,
    parted: &Mutex<Parted>,
    item: &Item,
    inode: &Inode,
) -> Result<Option<NewFile>> {
    let (dir, name) = (
        work.target.parent(work.plan, item.name_ref)?,
        work.plan.name(item.name_ref),
    );
    let mut parted = lock(parted);
    match &parted.state {
        PartState::Closed => Ok(None),
        PartState::Open(ticket) => work.target.reopen(&dir, name, ticket).map(Some),
        PartState::Unmade => {
            let mode = work.target.part_mode(inode);
            let Some(new) = work.target.make_file(&dir, item.name_ref, name, mode)? else {
                parted.state = PartState::Closed;
                work.keep(item.name_ref);
                return Ok(None);
            };
            if work.options.sparse {
                files::make_sparse(&new.file);
            }
            parted.state = PartState::Open(new.ticket()?);
            Ok(Some(new))
        }
    }
}

/// Writes a file that is a copy where a hard link was not possible.
///
/// Returns whether it was written: an existing file may be kept.
pub(crate) fn write_copy(work: &Extraction<'_>, item: &Item) -> Result<bool> {
    write_whole(work, item, &mut vec![0; CHUNK])
}

fn write_whole(work: &Extraction<'_>, item: &Item, buf: &mut Vec<u8>) -> Result<bool> {
    let inode = item.inode(work.image)?;
    let (dir, name) = (
        work.target.parent(work.plan, item.name_ref)?,
        work.plan.name(item.name_ref),
    );
    let mode = work.target.first_mode(&inode);
    let Some(new) = work.target.make_file(&dir, item.name_ref, name, mode)? else {
        work.observer.advance(Stage::Extract, Tally::items(1));
        return Ok(false);
    };
    if work.options.sparse && inode.allocated < inode.size {
        files::make_sparse(&new.file);
    }
    let hidden = new.hidden.clone();
    let done = write_range(work, &new, &inode, 0..inode.size, buf)
        .and_then(|end| finish(work, &dir, item, new, &inode, Some(end)));
    if done.is_err() {
        work.target
            .discard(&dir, hidden.as_deref().unwrap_or(name))?;
    }
    work.observer.advance(Stage::Extract, Tally::items(1));
    done
}

/// Sets the length and metadata of a file that is complete, gives it its name and closes it.
/// Returns whether it has the name: an existing file may be kept. `end` is where the last byte was
/// written, if one thread wrote all.
fn finish(
    work: &Extraction<'_>,
    dir: &Directory,
    item: &Item,
    new: NewFile,
    inode: &Inode,
    end: Option<u64>,
) -> Result<bool> {
    if end != Some(inode.size) {
        let set = new.file.set_len(inode.size);
        set.map_err(|error| Error::io("can't set the length", error))?;
    }
    metadata::of_open(work, &new.file, item.name_ref, inode);
    if work.options.sync && !files::SYNCS_FILE_SYSTEMS {
        let done = new.file.sync_all();
        done.map_err(|error| Error::io("can't write the file to the disk", error))?;
    }
    let name = work.plan.name(item.name_ref);
    let published = work.target.publish(dir, name, &new)?;
    if let Err(error) = new.close() {
        if published == Published::New {
            // perhaps not all of it is there
            work.target.discard(dir, name)?;
        }
        return Err(error);
    }
    if published == Published::Kept {
        return Ok(false);
    }
    work.counts.add(|counts| {
        counts.files += 1;
        counts.bytes = counts.bytes.saturating_add(inode.allocated);
    });
    Ok(true)
}

/// Writes a range of a file; returns the offset after the last byte written.
fn write_range(
    work: &Extraction<'_>,
    new: &NewFile,
    inode: &Inode,
    range: Range<u64>,
    buf: &mut Vec<u8>,
) -> Result<u64> {
    let mut end = 0;
    let together = CHUNK as u64;
    runs_up_to(
        together,
        work.image,
        inode.ino,
        range,
        &mut |run| match run {
            Run::Hole(_) if work.options.sparse => Ok(()),
            Run::Data(range) => {
                end = range.end;
                copy(work, new, inode, range, buf)
            }
            Run::Hole(range) => {
                end = range.end;
                fill(work, new, range, buf)
            }
        },
    )?;
    Ok(end)
}

fn copy(
    work: &Extraction<'_>,
    new: &NewFile,
    inode: &Inode,
    range: Range<u64>,
    buf: &mut Vec<u8>,
) -> Result<()> {
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    if (buf.len()..=EXTENT).contains(&len) {
        buf.resize(len, 0);
    }
    let mut at = range.start;
    while at < range.end {
        work.pause()?;
        let part = front(buf, range.end - at);
        let count = match work.image.read_at(inode.ino, at, part) {
            Ok(count) => {
                let data = part.get(..count).filter(|data| !data.is_empty());
                let data = data.ok_or_else(|| Error::corrupt("a file ends before its size"))?;
                new.put(data, at)?;
                count
            }
            Err(error) => {
                work.salvage(new, inode, (at, &mut *part), error)?;
                part.len()
            }
        };
        at += count as u64;
        work.observer
            .advance(Stage::Extract, Tally::bytes(count as u64));
    }
    Ok(())
}

fn fill(work: &Extraction<'_>, new: &NewFile, range: Range<u64>, buf: &mut [u8]) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        work.pause()?;
        let part = front(buf, range.end - at);
        part.fill(0);
        new.put(part, at)?;
        at += part.len() as u64;
    }
    Ok(())
}

fn front(buf: &mut [u8], len: u64) -> &mut [u8] {
    let len = usize::try_from(len).map_or(buf.len(), |len| len.min(buf.len()));
    buf.split_at_mut(len).0
}
