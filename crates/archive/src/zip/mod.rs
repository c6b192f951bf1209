//! Reads the directory of a zip archive: the names, attributes and places of its members.
//!
//! In: a file. Out: a [`Directory`]. Spec: PKWARE's APPNOTE 6.3.10 (sections 4.3 to 4.6 and D),
//! Info-ZIP's `extrafld.txt`. No crate is used: those that exist give neither the position of what
//! is wrong nor a bound on memory, nor do they compare local headers with the directory.
//! **Invariant:** memory is in proportion to the length of the directory, which is within the file;
//! no byte of content belongs to two members; content is within the file.

mod cp437;
mod end;
mod entry;
mod extra;
mod local;

#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use sinterfs_model::{Error, Result};

use crate::packed::Directory;

pub use end::has_end;

/// The first bytes of a local header, of the end of an empty archive, and of an archive that was
/// meant to be split.
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const END: [u8; 4] = *b"PK\x05\x06";
const SPLIT: [u8; 4] = *b"PK\x07\x08";
const SPLIT_ONE: [u8; 4] = *b"PK00";

/// Returns whether bytes begin a zip archive.
pub fn is_zip(start: &[u8]) -> bool {
    match start.split_at_checked(4) {
        Some((first, rest)) if first == SPLIT || first == SPLIT_ONE => rest.starts_with(&LOCAL),
        Some((first, _)) => first == LOCAL || first == END,
        None => false,
    }
}

/// Reads the directory of an archive of `len` bytes.
///
/// # Errors
/// `Corrupt` for an archive without an end or with a damaged directory, `Unsupported` for one of
/// several files or with an encrypted directory. Members that cannot be read are no error: they
/// come with a reason.
pub fn read(file: &mut (impl Read + Seek), len: u64) -> Result<Directory> {
    let place = end::find(file, len)?;
    let mut found = entry::read_all(file, &place, len)?;
    if place.behind > 0 {
        *found.warnings.entry(crate::stream::MORE).or_default() += 1;
    }
    local::compare(file, &mut found, place.directory)?;
    Ok(found.into_directory())
}

/// Fills a buffer from a position on.
fn fill_at(file: &mut (impl Read + Seek), at: u64, buf: &mut [u8]) -> Result<()> {
    let sought = file.seek(SeekFrom::Start(at));
    sought.map_err(|error| Error::io("cannot read the archive", error))?;
    let read = file.read_exact(buf);
    read.map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => bad(at, "the archive ends within a header"),
        _ => Error::io("cannot read the archive", error),
    })
}

/// Little-endian numbers from front to back.
#[derive(Debug, Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cold]
fn bad(at: u64, what: &'static str) -> Error {
    Error::corrupt(what).at("zip", at)
}
