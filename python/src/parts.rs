//! Parts of files, filled by several threads.
//!
//! In: the parts of one or of many files. Out: those that could not be filled. **Invariants:**
//! parts are read in the order of the blocks that they begin in, so that none of these is decoded
//! twice for two of them; the parts of a file whose content is checked in order are read in order,
//! by one thread; a part takes memory when it is read, not before.

use std::iter::Peekable;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use sinterfs::model::{ExtentSource, Ino};
use sinterfs::{Image, Result};

use crate::new_bytes::NewPart;
use crate::signals::SignalWatch;

/// Bytes that are read at once: no memory for a length that nothing vouches for.
pub const STEP: usize = 1 << 20;

/// The least bytes of a part: starting a thread takes a tenth of decoding them.
const LEAST: usize = 256 << 10;

/// A part of a file.
pub struct FilePart<'a> {
    /// Which of the files that are read.
    pub file: usize,
    /// Its number in the image.
    pub ino: Ino,
    /// The offset in the file.
    pub start: u64,
    /// Where the content goes.
    pub room: NewPart<'a>,
}

/// Parts of a file to be read one after the other, and where the first begins in the image.
struct PartJob<'a> {
    place: (u64, u64),
    parts: Vec<FilePart<'a>>,
}

/// A part that could not be read whole; without an error, the file ends before.
pub struct Missing {
    /// Which of the files.
    pub file: usize,
    start: u64,
    /// The error.
    pub why: Result<()>,
}

/// Returns the length of the parts in which files of an image are read: whole blocks, if they are
/// not large.
pub fn part_len(image: &Image) -> usize {
    let block = usize::try_from(image.raw().info().totals.block_size).unwrap_or(STEP);
    block.clamp(LEAST, STEP)
}

/// Returns the threads for a number that was asked for: for 0, one a processor.
pub fn thread_count(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        wanted => wanted,
    }
}

/// Fills parts, which are in the order of their files and offsets, with so many threads; returns
/// those that were not read whole, in the same order. The outer error is that of a signal handler.
pub fn read_parts<'a>(
    py: Python<'_>,
    image: &Image,
    parts: impl Iterator<Item = FilePart<'a>>,
    threads: usize,
) -> PyResult<Vec<Missing>> {
    let parts: Vec<_> = parts.collect();
    let mut watch = SignalWatch::new();
    let missing = py.detach(|| read_jobs(image, parts, threads, &mut watch));
    watch.finish()?;
    Ok(missing)
}

fn read_jobs(
    image: &Image,
    parts: Vec<FilePart<'_>>,
    threads: usize,
    watch: &mut SignalWatch,
) -> Vec<Missing> {
    let mut missing = Vec::new();
    let mut jobs = Vec::new();
    let mut parts = parts.into_iter().peekable();
    while let Some(parts) = next_parts(image, &mut parts) {
        let Some(first) = parts.first() else { break };
        match place(image, first.ino, first.start) {
            Ok(place) => jobs.push(PartJob { place, parts }),
            Err(why) => missing.push(first.missing(Err(why))),
        }
    }
    jobs.sort_by_key(|job| job.place);
    let count = threads.min(jobs.len());
    let (jobs, missing) = (Mutex::new(jobs.into_iter()), Mutex::new(missing));
    let is_stopped = AtomicBool::new(false);
    // what is behind a part that failed need not be read: the first failure is told
    let is_needed = |job: &PartJob<'_>| {
        let missing = lock(&missing);
        let mut failed = missing.iter().filter(|part| part.why.is_err());
        let start = job.parts.first().map(|part| (part.file, part.start));
        !failed.any(|part| Some((part.file, part.start)) < start)
    };
    let work = |go_on: &mut dyn FnMut() -> bool| {
        while go_on() {
            // locked for no longer than this
            let Some(job) = lock(&jobs).next() else {
                return;
            };
            let part = is_needed(&job).then(|| read(image, job, go_on)).flatten();
            if let Some(part) = part {
                lock(&missing).push(part);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..count {
            let work = || work(&mut || !is_stopped.load(Ordering::Relaxed));
            // with fewer threads it takes longer, no more
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work(&mut || {
            let goes_on = watch.goes_on();
            is_stopped.store(!goes_on, Ordering::Relaxed);
            goes_on
        });
    });
    let mut missing = missing.into_inner().unwrap_or_else(PoisonError::into_inner);
    missing.sort_by_key(|part| (part.file, part.start));
    missing
}

/// Takes the parts that one thread reads: one, or all of a file that is checked in order.
fn next_parts<'a>(
    image: &Image,
    parts: &mut Peekable<impl Iterator<Item = FilePart<'a>>>,
) -> Option<Vec<FilePart<'a>>> {
    let mut taken = vec![parts.next()?];
    if image.raw().info().checked_in_order {
        let file = taken.first().map(|part| part.file);
        while let Some(part) = parts.next_if(|part| Some(part.file) == file) {
            taken.push(part);
        }
    }
    Some(taken)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns where the bytes of a file from an offset on are in the image.
fn place(image: &Image, ino: Ino, start: u64) -> Result<(u64, u64)> {
    let mut place = (u64::MAX, 0);
    image.raw().extents(ino, start, &mut |extent| {
        if let ExtentSource::Block { block, offset } = extent.source {
            place = (block, offset);
        }
        ControlFlow::Break(())
    })?;
    Ok(place)
}

/// Fills the parts of a job, or returns the first that cannot be.
fn read(image: &Image, job: PartJob<'_>, go_on: &mut dyn FnMut() -> bool) -> Option<Missing> {
    for part in job.parts {
        if !go_on() {
            return None;
        }
        let (file, start) = (part.file, part.start);
        let buf = part.room.zeroed();
        let why = match image.raw().read_at(part.ino, start, buf) {
            Ok(count) if count == buf.len() => continue,
            Ok(_) => Ok(()),
            Err(why) => Err(why),
        };
        return Some(Missing { file, start, why });
    }
    None
}

impl FilePart<'_> {
    fn missing(&self, why: Result<()>) -> Missing {
        Missing {
            file: self.file,
            start: self.start,
            why,
        }
    }
}
