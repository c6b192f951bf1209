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
mod fields;
mod local;

#[cfg(test)]
mod tests;

use std::io::{Read, Seek};

use sinterfs_model::Result;

use crate::packed::Directory;

pub use end::has_end;
use fields::{END, LOCAL, SPLIT, SPLIT_ONE};

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
