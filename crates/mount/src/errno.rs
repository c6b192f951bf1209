//! The one table from kinds of errors to what a program sees in `errno`.

use rustix::io::Errno;
use sinterfs_model::{Error, Kind};

/// Names the result of what the kernel asks for.
pub(crate) type Answer<T> = Result<T, Errno>;

/// Returns the `errno` of an error. An error of reading the image is always `EIO`: a program that
/// reads a file must not be told of, say, a full disk.
pub(crate) fn errno(error: &Error) -> Errno {
    match error.kind() {
        Kind::NotFound => Errno::NOENT,
        Kind::Invalid => Errno::INVAL,
        Kind::Unsupported => Errno::OPNOTSUPP,
        Kind::Limit => Errno::OVERFLOW,
        Kind::Cancelled => Errno::INTR,
        // `Corrupt`, `Io` and what may come later.
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
            (Kind::Limit, Errno::OVERFLOW),
            (Kind::Invalid, Errno::INVAL),
            (Kind::Io, Errno::IO),
            (Kind::Cancelled, Errno::INTR),
        ];
        for (kind, number) in table {
            assert_eq!(errno(&Error::new(kind, "x")), number, "{kind:?}");
        }
    }
}
