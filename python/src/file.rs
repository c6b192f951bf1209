//! Regular files of an image, read at any position by any number of threads.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sinterfs::model::Ino;

use crate::error::raised;
use crate::shared_image::SharedImage;
use crate::stat::{StatTuple, stat_tuple};

/// Bytes of a first step of reading everything; each step reads twice as many.
const FIRST_STEP: u64 = 1 << 20;

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
        if len > FIRST_STEP {
            return self.read_large(py, &image, offset, len);
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let mut count = 0;
        let bytes = PyBytes::new_with(py, len, |buf| {
            let read = py.detach(|| image.raw().read_at(self.ino, offset, buf));
            count = read.map_err(|error| raised(py, &error.path(&self.path)))?;
            Ok(())
        })?;
        if count == len {
            Ok(bytes)
        } else {
            Ok(PyBytes::new(py, &bytes.as_bytes()[..count]))
        }
    }

    /// Reads in steps: no memory for a length that nothing vouches for.
    fn read_large<'py>(
        &self,
        py: Python<'py>,
        image: &sinterfs::Image,
        offset: u64,
        len: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let content = py.detach(|| read_steps(image, self.ino, offset, len));
        let content = content.map_err(|error| raised(py, &error.path(&self.path)))?;
        Ok(PyBytes::new(py, &content))
    }
}

/// Reads a range in steps, each twice as long as the one before.
pub fn read_steps(
    image: &sinterfs::Image,
    ino: Ino,
    offset: u64,
    len: u64,
) -> sinterfs::Result<Vec<u8>> {
    let too_large = || sinterfs::Error::limit("more content than memory holds");
    let mut content = Vec::new();
    let mut step = FIRST_STEP;
    loop {
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
            return Ok(content);
        }
        step = step.saturating_mul(2);
    }
}
