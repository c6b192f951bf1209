//! Files with holes: the map before their data, and the records that describe it.
//!
//! Spec: GNU tar's manual, "Storing Sparse Files", version 1.0, which bsdtar and Python read, too.

use std::fmt::Write;
use std::ops::Range;

use super::super::layout::BLOCK;
use super::records::{Records, named};

/// Writes the map: the number of its pairs, then offset and length of each, one on a line; zeros up
/// to the next block. A file that ends with a hole has a last pair without data.
pub(super) fn map(data: &[Range<u64>], size: u64) -> Vec<u8> {
    let ends_in_a_hole = data.last().is_none_or(|run| run.end < size);
    let last = ends_in_a_hole.then_some(size..size);
    let mut text = format!("{}\n", data.len() + last.iter().len());
    for run in data.iter().chain(&last) {
        // writing to a string cannot fail
        let _ = write!(text, "{}\n{}\n", run.start, run.end - run.start);
    }
    let mut bytes = text.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// Adds the records that describe a map.
pub(super) fn describe(records: &mut Records, path: &[u8], size: u64) {
    records.add(b"GNU.sparse.major", b"1");
    records.add(b"GNU.sparse.minor", b"0");
    records.text(b"GNU.sparse.name", path);
    records.add(b"GNU.sparse.realsize", size.to_string().as_bytes());
}

/// Makes the name under which readers without support for holes see map and data.
pub(super) fn placeholder(path: &[u8]) -> Vec<u8> {
    named(b"GNUSparseFile.0/", path)
}
