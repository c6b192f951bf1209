//! The table from kinds of errors to `errno`, for front ends that speak the system's language.
//!
//! **Invariant:** damage is `EIO`; a failed call of the system keeps its own number.

pub use rustix::io::Errno;

use sinterfs_model::{Error, Kind};

/// Returns the `errno` of an error.
pub fn errno(error: &Error) -> Errno {
    match error.kind() {
        Kind::NotFound => Errno::NOENT,
        Kind::NotDirectory => Errno::NOTDIR,
        Kind::Invalid => Errno::INVAL,
        Kind::Loop => Errno::LOOP,
        Kind::Unsupported => Errno::OPNOTSUPP,
        Kind::Limit => Errno::OVERFLOW,
        Kind::Cancelled => Errno::INTR,
        Kind::Stale => Errno::STALE,
        Kind::Io => error
            .io_source()
            .and_then(std::io::Error::raw_os_error)
            .map_or(Errno::IO, Errno::from_raw_os_error),
        // `Corrupt` and kinds that may be added
        _ => Errno::IO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_number() {
        let table = [
            (Kind::Corrupt, Errno::IO),
            (Kind::Unsupported, Errno::OPNOTSUPP),
            (Kind::NotFound, Errno::NOENT),
            (Kind::NotDirectory, Errno::NOTDIR),
            (Kind::Limit, Errno::OVERFLOW),
            (Kind::Invalid, Errno::INVAL),
            (Kind::Loop, Errno::LOOP),
            (Kind::Io, Errno::IO),
            (Kind::Cancelled, Errno::INTR),
            (Kind::Stale, Errno::STALE),
        ];
        for (kind, number) in table {
            assert_eq!(errno(&Error::new(kind, "x")), number, "{kind:?}");
        }
        let denied = std::io::Error::from(Errno::ACCESS);
        assert_eq!(errno(&Error::io("x", denied)), Errno::ACCESS);
    }
}
