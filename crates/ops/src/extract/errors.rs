//! Errors of the target: what they mean for the rest of the work.

use std::io::{self, ErrorKind};

use sinterfs_model::{Error, Kind};
use sinterfs_platform::{KEEPS, SYMLINKS_HAVE_KINDS};

/// Whether this system has all types of entries.
const KEEPS_ALL: bool = KEEPS.specials && !SYMLINKS_HAVE_KINDS;

pub(crate) fn failed(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::io(what, error)
}

pub(crate) fn in_the_way(what: &'static str) -> Error {
    Error::new(Kind::Io, what)
}

/// Returns whether an error makes all further work pointless.
pub(crate) fn ends_all(error: &Error) -> bool {
    const FULL: [ErrorKind; 3] = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::ReadOnlyFilesystem,
    ];
    error.kind() == Kind::Cancelled || kind(error).is_some_and(|kind| FULL.contains(&kind))
}

/// Returns whether an error means that the file system cannot make this hard link.
pub(crate) fn no_links(error: &Error) -> bool {
    const NONE: [ErrorKind; 4] = [
        ErrorKind::TooManyLinks,
        ErrorKind::PermissionDenied,
        ErrorKind::Unsupported,
        ErrorKind::CrossesDevices,
    ];
    kind(error).is_some_and(|kind| NONE.contains(&kind))
}

/// Returns whether an error means that this system has no such entry.
pub(crate) fn is_impossible(error: &Error) -> bool {
    kind(error) == Some(ErrorKind::Unsupported) && !KEEPS_ALL
}

fn kind(error: &Error) -> Option<ErrorKind> {
    error.io_source().map(io::Error::kind)
}

pub(crate) fn exists(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists
}
