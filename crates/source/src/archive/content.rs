//! The content of the files of an archive: where it is, and how it is read.
//!
//! **Invariant:** reads are positioned and short only at the end of a file; holes are zeros that
//! are not read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_archive::{DataRun, Stream};
use sinterfs_model::{Error, Extent, ExtentSource, FileContent, Result, StoredRange};
use sinterfs_platform::FileAt;

/// Holes beyond this many extents are read as zeros.
const MAX_EXTENTS: usize = 1 << 20;

/// Bytes of a read of headers: most members are small, so the next header is near.
const BUFFER: usize = 64 << 10;

/// Where the content of a file is in an archive.
#[derive(Debug)]
pub(crate) struct ContentLocation {
    pub(crate) start: u64,
    pub(super) size: u64,
    /// The runs of data, if there are holes.
    pub(super) map: Option<Arc<[DataRun]>>,
}

/// A regular file of an archive.
pub(super) struct ArchiveFile {
    file: Arc<File>,
    start: u64,
    size: u64,
    /// The runs of data, each with the position of its bytes in the archive.
    runs: Option<Vec<(DataRun, u64)>>,
    /// Whether that is its position in what was given, too.
    is_plain: bool,
    /// For messages.
    path: PathBuf,
}

impl ArchiveFile {
    pub(super) fn new(
        file: Arc<File>,
        place: &ContentLocation,
        is_plain: bool,
        path: PathBuf,
    ) -> Self {
        let positions = |map: &Arc<[DataRun]>| {
            let mut at = place.start;
            let mut runs = Vec::with_capacity(map.len());
            for &run in &**map {
                runs.push((run, at));
                at = at.saturating_add(run.len);
            }
            runs
        };
        Self {
            file,
            start: place.start,
            size: place.size,
            runs: place.map.as_ref().map(positions),
            is_plain,
            path,
        }
    }

    /// Reads bytes of the archive.
    fn read(&self, buf: &mut [u8], at: u64) -> Result<()> {
        let read = self.file.read_exact_at(buf, at);
        read.map_err(|error| Error::io("cannot read the archive", error).path(&self.path))
    }
}

impl FileContent for ArchiveFile {
    fn len(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let mut list = Vec::new();
        let mut push = |from: u64, to: u64, is_hole: bool| {
            if to > from {
                list.push(Extent {
                    offset: from,
                    len: to - from,
                    source: if is_hole {
                        ExtentSource::Hole
                    } else {
                        ExtentSource::Block {
                            block: 0,
                            offset: from,
                        }
                    },
                });
            }
        };
        let Some(runs) = &self.runs else {
            push(0, self.size, false);
            return Ok(list);
        };
        let (mut begin, mut end) = (0, 0);
        for (run, _) in runs.iter().take(MAX_EXTENTS / 2) {
            if run.offset > end {
                push(begin, end, false);
                push(end, run.offset, true);
                begin = run.offset;
            }
            end = run.offset.saturating_add(run.len);
        }
        if runs.len() > MAX_EXTENTS / 2 {
            push(begin, self.size, false);
        } else {
            push(begin, end, false);
            push(end, self.size, true);
        }
        Ok(list)
    }

    fn stored(&self) -> Option<Vec<StoredRange>> {
        let range = |offset, len, at| StoredRange { offset, len, at };
        self.is_plain.then(|| match &self.runs {
            None if self.size == 0 => Vec::new(),
            None => vec![range(0, self.size, self.start)],
            Some(runs) => {
                let runs = runs.iter().filter(|(run, _)| run.len > 0);
                runs.map(|(run, at)| range(run.offset, run.len, *at))
                    .collect()
            }
        })
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let left = self.size.saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let buf = buf.get_mut(..len).unwrap_or_default();
        let Some(runs) = &self.runs else {
            self.read(buf, self.start.saturating_add(offset))?;
            return Ok(len);
        };
        buf.fill(0);
        let end = offset.saturating_add(len as u64);
        let first = runs.partition_point(|(run, _)| run.offset.saturating_add(run.len) <= offset);
        for &(run, at) in runs.iter().skip(first) {
            if run.offset >= end {
                break;
            }
            let from = run.offset.max(offset);
            let to = run.offset.saturating_add(run.len).min(end);
            // both are within the buffer, and so within usize
            let part = (from - offset) as usize..(to - offset) as usize;
            let part = buf.get_mut(part).unwrap_or_default();
            self.read(part, at.saturating_add(from - run.offset))?;
        }
        Ok(len)
    }
}

/// A sequential view of a file, for reading headers and skipping content.
pub(super) struct HeaderStream {
    file: Arc<File>,
    len: u64,
    position: u64,
    buffer: Vec<u8>,
    /// The position of the buffer in the file.
    from: u64,
}

impl HeaderStream {
    pub(super) fn new(file: Arc<File>) -> Result<Self> {
        let len = (&*file).seek(SeekFrom::End(0));
        let len = len.map_err(|error| Error::io("cannot determine the length", error))?;
        Ok(Self {
            file,
            len,
            position: 0,
            buffer: Vec::new(),
            from: 0,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the buffered bytes from the current position on.
    fn buffered(&self) -> &[u8] {
        let start = self.position.checked_sub(self.from);
        let start = start.and_then(|start| usize::try_from(start).ok());
        start
            .and_then(|start| self.buffer.get(start..))
            .unwrap_or_default()
    }
}

impl Read for HeaderStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.buffered().is_empty() && self.position < self.len {
            self.buffer.resize(BUFFER, 0);
            let read = self.file.read_at(&mut self.buffer, self.position);
            self.buffer.truncate(*read.as_ref().unwrap_or(&0));
            self.from = self.position;
            read?;
        }
        let buffered = self.buffered();
        let len = buf.len().min(buffered.len());
        for (to, from) in buf.iter_mut().zip(buffered) {
            *to = *from;
        }
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for HeaderStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl Stream for HeaderStream {
    fn skip(&mut self, len: u64) -> io::Result<u64> {
        let len = len.min(self.len.saturating_sub(self.position));
        self.position += len;
        Ok(len)
    }
}
