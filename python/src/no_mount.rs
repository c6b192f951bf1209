//! Mounts of images on systems that have none.

use pyo3::prelude::*;
use sinterfs::Error;

use crate::error::raised;

/// Fails.
#[pyfunction]
pub fn mount(
    py: Python<'_>,
    _images: Py<PyAny>,
    _dir: Py<PyAny>,
    _options: Py<PyAny>,
) -> PyResult<()> {
    let what = "images are mounted on Linux only";
    Err(raised(py, &Error::unsupported(what)))
}
