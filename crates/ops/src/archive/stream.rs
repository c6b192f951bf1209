//! The bytes of an archive on their way out, collected so that few large writes leave.
//!
//! **Invariant:** bytes leave in order, and their number is known.

use std::io::Write;

use sinterfs_model::{Error, Result};

const SIZE: usize = 1 << 20;
/// Reads ask for no less than this, unless less is wanted.
const MIN_READ_LEN: usize = 256 << 10;

/// A buffer before a writer.
pub(super) struct ArchiveOutput<'a> {
    out: &'a mut dyn Write,
    buf: Vec<u8>,
    used: usize,
    /// Bytes that have left.
    written: u64,
}

impl<'a> ArchiveOutput<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            buf: vec![0; SIZE],
            used: 0,
            written: 0,
        }
    }

    /// Returns how many bytes were put in so far.
    pub(super) fn len(&self) -> u64 {
        self.written + self.used as u64
    }

    /// Appends up to `wanted` bytes, which `fill` writes into the buffer; returns their number.
    pub(super) fn put_with(
        &mut self,
        wanted: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<u64> {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        if self.buf.len() - self.used < wanted.min(MIN_READ_LEN) {
            self.flush()?;
        }
        let room = self.buf.get_mut(self.used..).unwrap_or_default();
        let len = room.len().min(wanted);
        let count = fill(room.split_at_mut(len).0)?.min(len);
        self.used += count;
        Ok(count as u64)
    }

    /// Puts in bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            let count = self.put_with(left.len() as u64, |room| {
                room.copy_from_slice(left.split_at(room.len()).0);
                Ok(room.len())
            })?;
            left = left.split_at(count as usize).1;
        }
        Ok(())
    }

    /// Puts in zeros.
    pub(super) fn zeros(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            left -= self.put_with(left, |room| {
                room.fill(0);
                Ok(room.len())
            })?;
        }
        Ok(())
    }

    /// Flushes the buffer.
    pub(super) fn flush(&mut self) -> Result<()> {
        let bytes = self.buf.get(..self.used).unwrap_or_default();
        let written = self.out.write_all(bytes);
        written.map_err(|error| Error::io("cannot write the archive", error))?;
        self.written += self.used as u64;
        self.used = 0;
        Ok(())
    }
}
