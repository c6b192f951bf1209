//! Regular files of an image, read at any position by any number of threads.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sinterfs::model::Ino;

use crate::error::raised;
use crate::new_bytes::{NewBytes, NewPart};
use crate::parts::{FilePart, STEP, part_len, read_parts, thread_count};
use crate::shared_image::SharedImage;
use crate::signals::SignalWatch;
use crate::stat::{StatTuple, stat_tuple};

/// The longest step of a read into memory that grows: signals are looked at between two.
const LONGEST_STEP: u64 = 64 << 20;

/// A regular file. It needs no closing: it holds nothing but its image.
#[pyclass(frozen, module = "sinterfs._sinterfs")]
pub struct RawFile {
    image: Arc<SharedImage>,
    path: PathBuf,
    ino: Ino,
    stat: StatTuple,
    size: u64,
}

impl RawFile {
    /// Opens a regular file.
    pub fn open(
        image: &Arc<SharedImage>,
        found: &sinterfs::Image,
        path: PathBuf,
    ) -> sinterfs::Result<Self> {
        let file = found.file(&path)?;
        let metadata = file.metadata();
        Ok(Self {
            image: Arc::clone(image),
            path,
            ino: Ino(metadata.ino()),
            stat: stat_tuple(&metadata),
            size: file.len(),
        })
    }
}

#[pymethods]
impl RawFile {
    /// Its length in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.size
    }

    /// Its metadata.
    #[getter]
    fn stat(&self) -> StatTuple {
        self.stat
    }

    /// Reads bytes from an offset on; fewer than `size` only at the end.
    fn read_at<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        size: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let len = size.min(self.size.saturating_sub(offset));
        self.read(py, offset, len)
    }

    /// Reads everything from an offset on.
    fn read_to_end<'py>(&self, py: Python<'py>, offset: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.read(py, offset, self.size.saturating_sub(offset))
    }
}

impl RawFile {
    /// Reads a range that is within the length that the image gives.
    fn read<'py>(&self, py: Python<'py>, offset: u64, len: u64) -> PyResult<Bound<'py, PyBytes>> {
        let image = self.image.image(py)?;
        let read = read_range(py, &image, self.ino, offset, len)?;
        read.map_err(|error| raised(py, &error.path(&self.path)))
    }
}

/// Reads a range of a file; less only if the file ends before. Several threads read a long one. The
/// outer error is Python's: a `MemoryError` for a length that the system would never have memory
/// for. What it might have is not touched before there is content for it.
pub fn read_range<'py>(
    py: Python<'py>,
    image: &sinterfs::Image,
    ino: Ino,
    offset: u64,
    len: u64,
) -> PyResult<sinterfs::Result<Bound<'py, PyBytes>>> {
    let mut bytes = NewBytes::new(py, usize::try_from(len).unwrap_or(usize::MAX))?;
    match fill(py, image, ino, offset, &mut bytes)? {
        Ok(true) => {}
        Ok(false) => return read_copied(py, image, ino, offset, len),
        Err(error) => return Ok(Err(error)),
    }
    match bytes.finish() {
        Some(bytes) => Ok(Ok(bytes)),
        None => read_copied(py, image, ino, offset, len),
    }
}

/// Fills an object with a range of a file; `false` if the file ends before.
fn fill(
    py: Python<'_>,
    image: &sinterfs::Image,
    ino: Ino,
    offset: u64,
    bytes: &mut NewBytes<'_>,
) -> PyResult<sinterfs::Result<bool>> {
    let step = part_len(image);
    let is_one = bytes.len() <= step;
    let mut parts = bytes.parts(step);
    if is_one {
        let room = parts.next();
        return Ok(py.detach(|| {
            let buf = room.map(NewPart::zeroed).unwrap_or_default();
            let count = image.raw().read_at(ino, offset, buf)?;
            Ok(count == buf.len())
        }));
    }
    let parts = parts.zip((offset..).step_by(step));
    let parts = parts.map(|(room, start)| FilePart {
        file: 0,
        ino,
        start,
        room,
    });
    let missing = read_parts(py, image, parts, thread_count(0))?;
    let first = missing.into_iter().next();
    Ok(first.map_or(Ok(true), |part| part.why.map(|()| false)))
}

/// Reads a range that ends before its length says, into memory that grows with what is read. The
/// outer error is Python's.
pub fn read_copied<'py>(
    py: Python<'py>,
    image: &sinterfs::Image,
    ino: Ino,
    offset: u64,
    len: u64,
) -> PyResult<sinterfs::Result<Bound<'py, PyBytes>>> {
    let mut watch = SignalWatch::new();
    let content = py.detach(|| read_steps(image, ino, offset, len, &mut watch));
    watch.finish()?;
    let made = content.map(|content| {
        PyBytes::new_with(py, content.len(), |bytes| {
            bytes.copy_from_slice(&content);
            Ok(())
        })
    });
    made.map_or_else(|error| Ok(Err(error)), |bytes| bytes.map(Ok))
}

/// Reads a range in steps, each twice as long as the one before, until a signal ends that.
fn read_steps(
    image: &sinterfs::Image,
    ino: Ino,
    offset: u64,
    len: u64,
    watch: &mut SignalWatch,
) -> sinterfs::Result<Vec<u8>> {
    let too_large = || sinterfs::Error::limit("more content than memory holds");
    let mut content = Vec::new();
    let mut step = STEP as u64;
    while watch.goes_on() {
        let done = content.len();
        let more = (len - done as u64).min(step);
        let more = usize::try_from(more).map_err(|_| too_large())?;
        content.try_reserve(more).map_err(|_| too_large())?;
        content.resize(done + more, 0);
        let count = match more {
            0 => 0,
            _ => image
                .raw()
                .read_at(ino, offset + done as u64, &mut content[done..])?,
        };
        content.truncate(done + count);
        if count < more || content.len() as u64 == len {
            break;
        }
        step = step.saturating_mul(2).min(LONGEST_STEP);
    }
    Ok(content)
}
