//! The library's errors as exceptions: subclasses of `OSError` with `errno` and the path.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use sinterfs::errno::{Errno, errno};
use sinterfs::{Error, Image, Kind};

/// Makes the exception of an error; the file object's own exception is its cause.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let mut number = errno(error).raw_os_error();
    let name = match error.kind() {
        // the standard library takes no path with a NUL, nor does that of Python
        Kind::Io if is_refused(error) => {
            number = Errno::INVAL.raw_os_error();
            "invalid"
        }
        Kind::Corrupt => "corrupt",
        Kind::Unsupported => "unsupported",
        Kind::NotFound => "not found",
        Kind::Limit => "limit",
        Kind::Invalid => "invalid",
        _ => "system",
    };
    let path = error
        .concerned_path()
        .map(|path| path.as_os_str().to_owned());
    let made = make(py, name, number, &message(error), path);
    if let Some(cause) = cause(py, error) {
        // Ctrl-C is no error of the file object
        if !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        made.set_cause(py, Some(cause));
    }
    made
}

/// Returns whether the standard library refused an argument before it asked the system.
fn is_refused(error: &Error) -> bool {
    error.io_source().is_some_and(|source| {
        source.raw_os_error().is_none() && source.kind() == ErrorKind::InvalidInput
    })
}

/// Makes an exception of a kind that only a number states.
pub fn with_number(py: Python<'_>, number: Errno, message: &str, path: Option<OsString>) -> PyErr {
    make(py, "system", number.raw_os_error(), message, path)
}

/// Makes an exception about a path of an image that only a number states.
pub fn numbered(py: Python<'_>, number: Errno, what: &str, path: &Path) -> PyErr {
    with_number(py, number, what, Some(path.as_os_str().to_owned()))
}

/// Makes the exception for a path that is not opened as a file.
pub fn not_opened(py: Python<'_>, image: &Image, path: &Path, error: &Error) -> PyErr {
    // reads the image, which other threads may be doing by a file object of Python
    let is_dir = py.detach(|| image.metadata(path).is_ok_and(|found| found.is_dir()));
    if is_dir {
        numbered(py, Errno::ISDIR, "is a directory", path)
    } else {
        raised(py, error)
    }
}

/// Turns the error of a result into an exception.
pub fn checked<T>(py: Python<'_>, result: sinterfs::Result<T>) -> PyResult<T> {
    result.map_err(|error| raised(py, &error))
}

/// Returns the message without the path, which the exception has apart.
fn message(error: &Error) -> String {
    let text = error.to_string();
    let path = error.concerned_path();
    let path = path.map(|path| format!("{}: ", path.display()));
    match path.and_then(|path| text.strip_prefix(&path).map(str::to_owned)) {
        Some(rest) => rest,
        None => text,
    }
}

fn make(py: Python<'_>, name: &str, number: i32, text: &str, path: Option<OsString>) -> PyErr {
    let made = py
        .import("sinterfs._errors")
        .and_then(|module| module.getattr("make"))
        .and_then(|make| make.call1((name, number, text, path)));
    match made {
        Ok(made) => PyErr::from_value(made),
        Err(error) => error,
    }
}

/// Returns the exception of a file object that an image was read from.
fn cause(py: Python<'_>, error: &Error) -> Option<PyErr> {
    let inner = error.io_source()?.get_ref()?;
    Some(inner.downcast_ref::<PyErr>()?.clone_ref(py))
}

/// Makes the exception for work of a thread that ended with a panic.
pub fn panicked() -> PyErr {
    PyRuntimeError::new_err("internal error: a thread of the library panicked")
}
