//! Whole files, many by one call, on several threads.
//!
//! In: paths. Out: their contents, in the same order. **Invariant:** files are read in the order of
//! the blocks that they begin in, so that none of these is decoded twice for two of them; a part
//! of a file takes memory when it is read, not before.

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinterfs::model::{ExtentSource, Ino};
use sinterfs::{Error, Image, Result};

use crate::file::read_steps;

/// Bytes that a thread reads of a file at once. Longer files are read by several.
const PART: u64 = 1 << 20;

/// A file that is longer is read as one, in steps: nothing vouches for its length.
const LARGEST: u64 = 1 << 30;

/// A part of a file, and where it begins in the image.
struct FilePart {
    file: usize,
    ino: Ino,
    range: Range<u64>,
    place: (u64, u64),
}

/// The contents of a file: parts, in order.
pub type Parts = Vec<Vec<u8>>;

/// Reads whole files with so many threads.
pub fn read_many(image: &Image, paths: &[PathBuf], threads: usize) -> Result<Vec<Parts>> {
    let mut jobs = Vec::new();
    for (file, path) in paths.iter().enumerate() {
        let found = image.file(path)?;
        add_parts(
            &mut jobs,
            image,
            file,
            Ino(found.metadata().ino()),
            found.len(),
        )
        .map_err(|error| error.path(path))?;
    }
    jobs.sort_by_key(|job| (job.place, job.file, job.range.start));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let first = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(first) else {
                return;
            };
            let read = read(image, job).map_err(|error| error.path(&paths[job.file]));
            let mut done = done
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            done.push((job.file, job.range.start, read));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            // with fewer threads it takes longer, no more
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(file, start, _)| (*file, *start));
    let mut contents: Vec<Parts> = paths.iter().map(|_| Vec::new()).collect();
    for (file, _, part) in done {
        contents[file].push(part?);
    }
    Ok(contents)
}

/// Cuts a file into jobs.
fn add_parts(
    jobs: &mut Vec<FilePart>,
    image: &Image,
    file: usize,
    ino: Ino,
    len: u64,
) -> Result<()> {
    let part = if len > LARGEST { len } else { PART };
    let mut start = 0;
    while start < len {
        let end = len.min(start.saturating_add(part));
        let mut place = (u64::MAX, 0);
        image.raw().extents(ino, start, &mut |extent| {
            if let ExtentSource::Block { block, offset } = extent.source {
                place = (block, offset);
            }
            ControlFlow::Break(())
        })?;
        jobs.try_reserve(1)
            .map_err(|_| Error::limit("more parts of files than memory holds"))?;
        jobs.push(FilePart {
            file,
            ino,
            range: start..end,
            place,
        });
        start = end;
    }
    Ok(())
}

/// Reads a part, which is shorter only if the file ends before its length.
fn read(image: &Image, job: &FilePart) -> Result<Vec<u8>> {
    if job.range.end - job.range.start > PART {
        return read_steps(image, job.ino, 0, job.range.end);
    }
    let too_large = || Error::limit("more content than memory holds");
    let len = usize::try_from(job.range.end - job.range.start).map_err(|_| too_large())?;
    let mut part = Vec::new();
    part.try_reserve_exact(len).map_err(|_| too_large())?;
    part.resize(len, 0);
    let count = image.raw().read_at(job.ino, job.range.start, &mut part)?;
    part.truncate(count);
    Ok(part)
}
