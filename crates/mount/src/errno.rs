//! The table from kinds of errors to `errno`.
//!
//! **Invariant:** damage and errors of reading the image are `EIO`. An inode that the image names
//! and does not have is damage (`View::attr_of`); one that only the kernel names is `ENOENT`.

use rustix::io::Errno;
use sinterfs_model::{Error, Kind};

/// The result of a request of the kernel.
pub(crate) type Answer<T> = Result<T, Errno>;

/// Returns the `errno` of an error. Errors of reading the image are always `EIO`: a program must
/// not get an error of the image file, such as a full disk. That holds for an image that changed on
/// its server, too: with `ESTALE` the kernel would look the path up again.
pub(crate) fn errno(error: &Error) -> Errno {
    match error.kind() {
        Kind::NotFound => Errno::NOENT,
        Kind::NotDirectory => Errno::NOTDIR,
        Kind::Invalid => Errno::INVAL,
        Kind::Unsupported => Errno::OPNOTSUPP,
        Kind::Loop => Errno::LOOP,
        Kind::Limit => Errno::OVERFLOW,
        Kind::Cancelled => Errno::INTR,
        // `Corrupt`, `Io`, `Stale` and kinds that may be added
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
            (Kind::Stale, Errno::IO),
        ];
        for (kind, number) in table {
            assert_eq!(errno(&Error::new(kind, "x")), number, "{kind:?}");
        }
    }
}
