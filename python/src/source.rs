//! What images are read from besides paths: bytes, and file objects of Python.
//!
//! **Invariant:** the lock of a file object's position is taken only while the interpreter is
//! released, so that two threads cannot wait for each other.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sinterfs::image::ReadAt;
use sinterfs::{Error, Result};

/// Most bytes that are asked of a file object at once.
const STEP: u64 = 8 << 20;

/// Bytes that handles share.
pub struct BytesSource(pub Arc<[u8]>);

impl ReadAt for BytesSource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let from = usize::try_from(offset).ok();
        let rest = from.and_then(|from| self.0.get(from..));
        let bytes = rest.and_then(|rest| rest.get(..buf.len()));
        buf.copy_from_slice(bytes.ok_or_else(|| short(buf.len(), offset))?);
        Ok(())
    }
}

/// A file object with `seek` and `read`.
pub struct ObjectSource {
    object: Py<PyAny>,
    len: u64,
    position: Mutex<()>,
}

impl ObjectSource {
    /// Wraps a file object, whose length is where its end is.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        object.call_method1("seek", (0, 2))?;
        let len = object.call_method0("tell")?.extract()?;
        Ok(Self {
            object: object.clone().unbind(),
            len,
            position: Mutex::new(()),
        })
    }

    fn fill(&self, py: Python<'_>, offset: u64, buf: &mut [u8]) -> PyResult<usize> {
        let object = self.object.bind(py);
        object.call_method1("seek", (offset,))?;
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let wanted = (rest.len() as u64).min(STEP);
            let read = object.call_method1("read", (wanted,))?;
            let read = read.cast_into::<PyBytes>()?;
            let bytes = read.as_bytes();
            let count = bytes.len().min(rest.len());
            if count == 0 {
                break;
            }
            rest[..count].copy_from_slice(&bytes[..count]);
            done += count;
        }
        Ok(done)
    }
}

impl ReadAt for ObjectSource {
    fn len(&self) -> u64 {
        self.len
    }

    /// No bytes of a file object are for threads in the background: the interpreter, when it ends,
    /// ends a thread that asks for it in the midst of such a call.
    fn is_here(&self, _: &Range<u64>) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let len = buf.len();
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(short(len, offset));
        }
        let _position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let read = Python::attach(|py| self.fill(py, offset, buf));
        match read {
            Ok(count) if count == len => Ok(()),
            Ok(_) => Err(short(len, offset)),
            Err(error) => {
                let what = format!("cannot read {len} bytes at {offset:#x} of the file object");
                Err(Error::io(what, io::Error::other(error)))
            }
        }
    }
}

fn short(len: usize, offset: u64) -> Error {
    Error::corrupt(format!(
        "the file object ends before {len} bytes at {offset:#x}"
    ))
}
