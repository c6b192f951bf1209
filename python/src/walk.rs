//! Everything below a directory, in batches: one call of Python for many entries.

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sinterfs::Error;
use sinterfs::errno::Errno;
use sinterfs::image::{Entry, Walk};

use crate::error::{checked, with_number};
use crate::stat::{StatTuple, stat_tuple};

/// Entries of a batch.
const BATCH: usize = 1024;

/// A path, and its metadata.
type Row = (OsString, StatTuple);

/// An iterator of lists of entries.
#[pyclass(frozen, module = "sinterfs._sinterfs")]
pub struct RawWalk {
    process: u32,
    state: Mutex<WalkState>,
}

/// How far a walk is.
struct WalkState {
    walk: Option<Walk>,
    /// What is told after the rows before it.
    failure: Option<Error>,
}

impl RawWalk {
    /// Starts below a directory.
    pub fn new(walk: Walk) -> Self {
        Self {
            process: std::process::id(),
            state: Mutex::new(WalkState {
                walk: Some(walk),
                failure: None,
            }),
        }
    }
}

impl Drop for RawWalk {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let state = self.state.get_mut();
            let state = state.unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(state.walk.take());
        }
    }
}

#[pymethods]
impl RawWalk {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<Row>>> {
        if self.process != std::process::id() {
            let what = "a walk cannot be continued by another process";
            return Err(with_number(py, Errno::BADF, what, None));
        }
        let batch = py.detach(|| self.batch());
        let batch = checked(py, batch)?;
        Ok((!batch.is_empty()).then_some(batch))
    }
}

impl RawWalk {
    /// Returns the next rows; what fails is returned after the rows before it.
    fn batch(&self) -> sinterfs::Result<Vec<Row>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let WalkState { walk, failure } = &mut *state;
        if let Some(failure) = failure.take() {
            return Err(failure);
        }
        let mut batch = Vec::new();
        for entry in walk.iter_mut().flatten().take(BATCH) {
            match entry.and_then(|entry| row(&entry)) {
                Ok(row) => batch.push(row),
                Err(error) if batch.is_empty() => return Err(error),
                Err(error) => {
                    *failure = Some(error);
                    break;
                }
            }
        }
        Ok(batch)
    }
}

fn row(entry: &Entry) -> sinterfs::Result<Row> {
    let stat = stat_tuple(&entry.metadata()?);
    Ok((entry.path().as_os_str().to_owned(), stat))
}
