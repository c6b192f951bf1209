//! Information about an image as dictionaries, lists, strings and numbers.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sinterfs::image::{InfoRows, InfoValue};

/// Makes a dictionary of rows.
pub fn dictionary<'py>(py: Python<'py>, rows: &InfoRows) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (name, value) in rows {
        made.set_item(name, object(py, value)?)?;
    }
    Ok(made)
}

fn object<'py>(py: Python<'py>, value: &InfoValue) -> PyResult<Bound<'py, PyAny>> {
    match value {
        InfoValue::Text(text) => text.into_bound_py_any(py),
        InfoValue::Number(number) => number.into_bound_py_any(py),
        InfoValue::Flag(flag) => flag.into_bound_py_any(py),
        InfoValue::List(values) => {
            let made: PyResult<Vec<_>> = values.iter().map(|value| object(py, value)).collect();
            made?.into_bound_py_any(py)
        }
        InfoValue::Map(rows) => dictionary(py, rows)?.into_bound_py_any(py),
    }
}
