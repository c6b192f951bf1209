//! One error for several readers: errors cannot be cloned, since their causes cannot.

use sinterfs_model::Error;

/// Copies an error for another reader: kind, message, place and path, and the cause as text (or as
/// the number of the operating system).
pub(super) fn copy(error: &Error) -> Error {
    let mut copied = Error::new(error.kind(), error.what().to_owned());
    if let Some(place) = error.place() {
        copied = match place.offset {
            Some(offset) => copied.at(place.structure.clone(), offset),
            None => copied.within(place.structure.clone()),
        };
    }
    if let Some(path) = error.concerned_path() {
        copied = copied.path(path);
    }
    if let Some(number) = error.io_source().and_then(std::io::Error::raw_os_error) {
        copied = copied.because(std::io::Error::from_raw_os_error(number));
    } else if let Some(cause) = std::error::Error::source(error) {
        copied = copied.because(cause.to_string());
    }
    copied
}
