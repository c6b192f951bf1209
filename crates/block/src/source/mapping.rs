//! Read-only memory mappings of files: the one place of this crate with `unsafe`.
//!
//! A mapped file that somebody cuts short makes every later touch of the lost pages a SIGBUS, and
//! one that somebody writes to changes under the reader. Images are not changed in place; who
//! cannot rely on that opens the file with `FileSource::without_mapping`.

#![allow(
    unsafe_code,
    reason = "mmap has no safe form: the file can change under the mapping"
)]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// A range of a file in memory; unmapped when dropped.
pub(super) struct Mapping(Mmap);

impl Mapping {
    /// Maps a range, which must lie within the file and be longer than zero.
    pub(super) fn new(file: &File, offset: u64, len: usize) -> io::Result<Self> {
        // SAFETY: the mapping is private and read-only and owned by the result. The file staying
        // as it is while it is mapped is asked of the user (module documentation).
        unsafe {
            MmapOptions::new()
                .offset(offset)
                .len(len)
                .map_copy_read_only(file)
        }
        .map(Self)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
