//! An open regular file of a directory source.
//!
//! **Invariant:** reads are retried after a signal and are short only at the end of the file.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use sinterfs_model::{Error, Extent, ExtentSource, FileContent, Result, Time};
use sinterfs_platform::{Directory, FileAt, Status, files};

/// Files from this size on take several reads, so the kernel is advised of sequential access.
const ADVISED_FROM: u64 = 1 << 20;

/// Holes beyond this many extents are read as zeros, so that the list of a sparse file is bounded.
const MAX_EXTENTS: usize = 1 << 20;

/// The most that is read of a file whose size is said to be 0.
pub(crate) const MOST: u64 = 64 << 20;

/// Bytes of the first read of such a file: some have no second one.
const FIRST_READ: usize = 64 << 10;

/// Bytes of further reads.
const NEXT_READ: usize = 1 << 20;

/// A regular file of a directory source, open for reading.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: File,
    path: PathBuf,
}

impl OpenFile {
    /// Takes over an open file; `path` is for messages.
    pub(crate) fn new(file: File, path: PathBuf, size: u64) -> Self {
        if size > ADVISED_FROM {
            files::will_be_read(&file);
        }
        Self { file, path }
    }

    fn fail(&self, what: &'static str, error: io::Error) -> Error {
        Error::io(what, error).path(&self.path)
    }

    fn status(&self) -> Result<Status> {
        Directory::status_of(&self.file).map_err(|error| self.fail("cannot stat", error))
    }
}

/// Returns the length of a file whose size is said to be 0, by reading it: at most [`MOST`].
pub(crate) fn measured(file: &File) -> io::Result<u64> {
    let (mut buffer, mut len) = (Vec::new(), 0);
    while len < MOST {
        buffer.resize(if len == 0 { FIRST_READ } else { NEXT_READ }, 0);
        match file.read_at(&mut buffer, len) {
            Ok(0) => break,
            Ok(count) => len += count as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len.min(MOST))
}

/// Returns the length of a file of the kernel, and what to report of it.
pub(crate) fn without_size(file: &File) -> io::Result<(u64, Option<Error>)> {
    let len = measured(file)?;
    let what = match len {
        0 => return Ok((0, None)),
        MOST => "its size is said to be 0: stored as it was read, and not beyond 64 MiB",
        _ => "has content although its size is said to be 0: stored as it was read",
    };
    Ok((len, Some(Error::invalid(what))))
}

impl FileContent for OpenFile {
    fn len(&self) -> Result<u64> {
        match self.status()?.size {
            0 => measured(&self.file).map_err(|error| self.fail("cannot read", error)),
            size => Ok(size),
        }
    }

    fn modified(&self) -> Result<Option<Time>> {
        Ok(Some(self.status()?.meta.times.modified))
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let len = self.len()?;
        let mut list = ExtentList {
            extents: Vec::new(),
            end: 0,
        };
        while list.end < len {
            let hole = if list.extents.len() < MAX_EXTENTS {
                files::next_hole(&self.file, list.end, len)
            } else {
                len
            };
            list.push(
                hole,
                ExtentSource::Block {
                    block: 0,
                    offset: list.end,
                },
            );
            if hole == len {
                break;
            }
            let data = files::next_data(&self.file, hole, len);
            if data == hole {
                // neither data nor hole: treat the rest as data
                list.push(
                    len,
                    ExtentSource::Block {
                        block: 0,
                        offset: hole,
                    },
                );
            } else {
                list.push(data, ExtentSource::Hole);
            }
        }
        Ok(list.extents)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let (at, rest) = (offset + done as u64, &mut buf[done..]);
            match self.file.read_at(&mut *rest, at) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail("cannot read", error)),
            }
        }
        Ok(done)
    }
}

struct ExtentList {
    extents: Vec<Extent>,
    end: u64,
}

impl ExtentList {
    fn push(&mut self, to: u64, source: ExtentSource) {
        if to > self.end {
            self.extents.push(Extent {
                offset: self.end,
                len: to - self.end,
                source,
            });
            self.end = to;
        }
    }
}
