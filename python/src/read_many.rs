//! Whole files, many by one call, on several threads.
//!
//! In: paths. Out: their contents, in the same order. **Invariant:** files are read in the order of
//! the blocks that they begin in, so that none of these is decoded twice for two of them; a part
//! of a file takes memory when it is read, not before.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sinterfs::model::{ExtentSource, Ino};
use sinterfs::{Image, Result};

use crate::error::{checked, raised};
use crate::file::{LARGEST, STEP, read_copied};
use crate::new_bytes::{NewBytes, NewPart};

/// A file to read.
struct WholeFile {
    ino: Ino,
    len: u64,
}

impl WholeFile {
    /// Returns the length of what is read in parts: of a longer file, nothing vouches for it.
    fn in_parts(&self) -> usize {
        let len = usize::try_from(self.len).ok();
        len.filter(|_| self.len <= LARGEST).unwrap_or(0)
    }
}

/// A part of a file, and where it begins in the image.
struct FilePart<'a> {
    file: usize,
    ino: Ino,
    start: u64,
    room: NewPart<'a>,
    place: (u64, u64),
}

/// A part that could not be read whole; without an error, the file ends before.
struct Missing {
    file: usize,
    start: u64,
    why: Result<()>,
}

/// Reads whole files with so many threads.
pub fn read_many<'py>(
    py: Python<'py>,
    image: &Image,
    paths: &[PathBuf],
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let find = |path| {
        let found = image.file(path)?;
        let ino = Ino(found.metadata().ino());
        Ok(WholeFile {
            ino,
            len: found.len(),
        })
    };
    let files = py.detach(|| paths.iter().map(find).collect::<Result<Vec<_>>>());
    let files = checked(py, files)?;
    let made = files.iter().map(|file| NewBytes::new(py, file.in_parts()));
    let mut contents = made.collect::<PyResult<Vec<_>>>()?;
    let parts = contents
        .iter_mut()
        .enumerate()
        .flat_map(|(file, bytes)| bytes.parts(STEP).map(move |room| (file, room)));
    let parts: Vec<_> = parts.collect();
    let missing = py.detach(|| read_parts(image, &files, parts, threads));
    let mut is_short = vec![false; paths.len()];
    for part in missing {
        let at_path = |error: sinterfs::Error| raised(py, &error.path(&paths[part.file]));
        part.why.map_err(at_path)?;
        is_short[part.file] = true;
    }
    let filled = contents.into_iter().zip(&files).enumerate();
    let finished = filled.map(|(number, (bytes, file))| {
        let is_whole = !is_short[number] && file.in_parts() as u64 == file.len;
        match bytes.finish().filter(|_| is_whole) {
            Some(bytes) => Ok(bytes),
            None => read_copied(py, image, file.ino, 0, file.len)
                .map_err(|error| raised(py, &error.path(&paths[number]))),
        }
    });
    finished.collect()
}

/// Fills parts of files in the order of the image; returns those that were not read whole, in the
/// order of the files.
fn read_parts(
    image: &Image,
    files: &[WholeFile],
    parts: Vec<(usize, NewPart<'_>)>,
    threads: usize,
) -> Vec<Missing> {
    let mut missing = Vec::new();
    let mut jobs = Vec::with_capacity(parts.len());
    let (mut last, mut start) = (None, 0);
    for (file, room) in parts {
        start = if last == Some(file) { start } else { 0 };
        last = Some(file);
        let (ino, len) = (files[file].ino, room.len() as u64);
        match place(image, ino, start) {
            Ok(place) => jobs.push(FilePart {
                file,
                ino,
                start,
                room,
                place,
            }),
            Err(why) => missing.push(Missing {
                file,
                start,
                why: Err(why),
            }),
        }
        start += len;
    }
    jobs.sort_by_key(|job| (job.place, job.file, job.start));
    let count = threads.min(jobs.len());
    let (jobs, missing) = (Mutex::new(jobs.into_iter()), Mutex::new(missing));
    let work = || {
        loop {
            // locked for no longer than this
            let Some(job) = lock(&jobs).next() else {
                return;
            };
            if let Some(part) = read(image, job) {
                lock(&missing).push(part);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..count {
            // with fewer threads it takes longer, no more
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut missing = missing.into_inner().unwrap_or_else(PoisonError::into_inner);
    missing.sort_by_key(|part| (part.file, part.start));
    missing
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

/// Fills a part; returns it if that failed, or if the file ends before.
fn read(image: &Image, job: FilePart<'_>) -> Option<Missing> {
    let (file, start) = (job.file, job.start);
    let buf = job.room.zeroed();
    let why = match image.raw().read_at(job.ino, start, buf) {
        Ok(count) if count == buf.len() => return None,
        Ok(_) => Ok(()),
        Err(why) => Err(why),
    };
    Some(Missing { file, start, why })
}
