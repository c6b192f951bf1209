//! Whole files, many by one call, on several threads.
//!
//! In: paths. Out: their contents, in the same order. **Invariant:** each file is as long as its
//! inode says, or it is read again by itself, into memory that grows with what is read.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sinterfs::model::Ino;
use sinterfs::{Image, Result};

use crate::error::{not_opened, raised};
use crate::file::{read_copied, read_range};
use crate::new_bytes::NewBytes;
use crate::parts::{FilePart, part_len, read_parts};

/// A longer file is read by itself: memory for all files is asked for before any is read.
const LARGEST: u64 = 1 << 30;

/// A file to read.
struct WholeFile {
    ino: Ino,
    len: u64,
}

impl WholeFile {
    /// Returns the length of what is read in parts with other files.
    fn in_parts(&self) -> usize {
        let len = usize::try_from(self.len).ok();
        len.filter(|_| self.len <= LARGEST).unwrap_or(0)
    }
}

/// Reads whole files with so many threads.
pub fn read_many<'py>(
    py: Python<'py>,
    image: &Image,
    paths: &[PathBuf],
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let found = py.detach(|| {
        let files = paths.iter().map(|path| (path, find(image, path)));
        files
            .map(|(path, file)| file.map_err(|error| (path, error)))
            .collect::<std::result::Result<Vec<_>, _>>()
    });
    let files = found.map_err(|(path, error)| not_opened(py, image, path, &error))?;
    let made = files.iter().map(|file| NewBytes::new(py, file.in_parts()));
    let mut contents = made.collect::<PyResult<Vec<_>>>()?;
    let missing = read_parts(py, image, parts(image, &files, &mut contents), threads)?;
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
            None => {
                let read = if is_short[number] {
                    read_copied
                } else {
                    read_range
                };
                let again = read(py, image, file.ino, 0, file.len)?;
                again.map_err(|error| raised(py, &error.path(&paths[number])))
            }
        }
    });
    finished.collect()
}

fn find(image: &Image, path: &PathBuf) -> Result<WholeFile> {
    let found = image.file(path)?;
    Ok(WholeFile {
        ino: Ino(found.metadata().ino()),
        len: found.len(),
    })
}

/// Divides files into parts.
fn parts<'a>(
    image: &Image,
    files: &'a [WholeFile],
    contents: &'a mut [NewBytes<'_>],
) -> impl Iterator<Item = FilePart<'a>> {
    let step = part_len(image);
    let rooms = contents.iter_mut().map(move |bytes| bytes.parts(step));
    let files = files.iter().zip(rooms).enumerate();
    files.flat_map(move |(file, (found, rooms))| {
        let rooms = rooms.zip((0..).step_by(step));
        rooms.map(move |(room, start)| FilePart {
            file,
            ino: found.ino,
            start,
            room,
        })
    })
}
