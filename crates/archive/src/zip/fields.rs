//! The numbers and first bytes of a zip's headers.
//!
//! In: bytes. Out: numbers. Spec: APPNOTE 4.3. **Invariant:** nothing is read after the last byte.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use sinterfs_model::{Error, Result};

/// The first bytes of a local header, of the end of an empty archive, and of an archive that was
/// meant to be split.
pub(super) const LOCAL: [u8; 4] = *b"PK\x03\x04";
pub(super) const END: [u8; 4] = *b"PK\x05\x06";
pub(super) const SPLIT: [u8; 4] = *b"PK\x07\x08";
pub(super) const SPLIT_ONE: [u8; 4] = *b"PK00";

/// Fills a buffer from a position on.
pub(super) fn fill_at(file: &mut (impl Read + Seek), at: u64, buf: &mut [u8]) -> Result<()> {
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
pub(super) struct ZipFields<'a>(pub(super) &'a [u8]);

impl<'a> ZipFields<'a> {
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cold]
pub(super) fn bad(at: u64, what: &'static str) -> Error {
    Error::corrupt(what).at("zip", at)
}
