//! An open regular file of a directory source.
//!
//! **Invariant:** reads are retried after a signal and are short only at the end of the file.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{Advice, SeekFrom};
use rustix::io::retry_on_intr;
use sinterfs_model::{Error, Extent, ExtentSource, FileContent, Result, Time};

use super::status;

/// Files from this size on take several reads, so the kernel is advised of sequential access.
const ADVISED_FROM: u64 = 1 << 20;

/// Holes beyond this many extents are read as zeros, so that the list of a sparse file is bounded.
const MAX_EXTENTS: usize = 1 << 20;

/// A regular file of a directory source, open for reading.
#[derive(Debug)]
pub(in crate::source) struct OpenFile {
    fd: OwnedFd,
    path: PathBuf,
}

impl OpenFile {
    /// Takes over a descriptor; `path` is for messages.
    pub(in crate::source) fn new(fd: OwnedFd, path: PathBuf, size: u64) -> Self {
        if size > ADVISED_FROM {
            // advice only: a file system that takes none loses nothing
            let _ = rustix::fs::fadvise(&fd, 0, None, Advice::Sequential);
        }
        Self { fd, path }
    }

    fn fail(&self, what: &'static str, errno: rustix::io::Errno) -> Error {
        Error::io(what, errno).path(&self.path)
    }

    fn seek(&self, to: SeekFrom) -> rustix::io::Result<u64> {
        rustix::fs::seek(&self.fd, to)
    }
}

impl FileContent for OpenFile {
    fn len(&self) -> Result<u64> {
        let status = status::of_fd(&self.fd).map_err(|errno| self.fail("cannot stat", errno))?;
        Ok(status.size)
    }

    fn modified(&self) -> Result<Option<Time>> {
        let status = status::of_fd(&self.fd).map_err(|errno| self.fail("cannot stat", errno))?;
        Ok(Some(status.meta.times.modified))
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let len = self.len()?;
        let mut list = ExtentList {
            extents: Vec::new(),
            end: 0,
        };
        while list.end < len {
            // any error means a file system without holes, or a file that shrank meanwhile
            let hole = match self.seek(SeekFrom::Hole(list.end)) {
                Ok(hole) if list.extents.len() < MAX_EXTENTS => hole.clamp(list.end, len),
                _ => len,
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
            let data = match self.seek(SeekFrom::Data(hole)) {
                Ok(data) => data.clamp(hole, len),
                Err(_) => len,
            };
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
            match retry_on_intr(|| rustix::io::pread(&self.fd, &mut *rest, at)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(errno) => return Err(self.fail("cannot read", errno)),
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
