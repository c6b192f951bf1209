//! Sources of the bytes of an image, read at offsets.
//!
//! In: an offset and a length in bytes. Out: exactly that many bytes, or `Corrupt` if the source is
//! shorter (a truncated image), or `Io`.
//!
//! **Invariant:** no shared position; threads may read one source at the same time.

mod checksummed;
mod file;
mod memory;
mod sequential;
mod window;

#[cfg(test)]
mod tests;

use std::ops::Range;

use sinterfs_codec::Bytes;
use sinterfs_model::{Error, Result};

pub use checksummed::ChecksummedWindow;
pub use file::FileSource;
pub use memory::MemorySource;
pub use sequential::SequentialReader;
pub use window::Window;

/// Reads bytes at any offset of a source whose length does not change.
pub trait ReadAt: Send + Sync {
    /// Returns the length in bytes.
    fn len(&self) -> u64;

    /// Returns whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the buffer with the bytes from `offset` on. Fails with `Corrupt` if the source is
    /// shorter.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()>;

    /// Announces which bytes will be read soon. Returns at once; a source that has to fetch its
    /// bytes fetches these together. A hint: it changes no answer, and failures show when the bytes
    /// are read.
    fn will_need(&self, ranges: &[Range<u64>]) {
        let _ = ranges;
    }

    /// Announces all that the start of a program reads. As [`Self::will_need`]; and reads of these
    /// bytes are no reason to fetch what follows them.
    fn will_start(&self, ranges: &[Range<u64>]) {
        self.will_need(ranges);
    }

    /// Returns whether threads in the background may read these bytes: not where a server has to be
    /// asked for them, or a file object of an interpreter.
    fn is_here(&self, range: &Range<u64>) -> bool {
        let _ = range;
        true
    }

    /// Forgets what is kept of these bytes, since they are not what they should be. Returns whether
    /// reading them again may give others: those of a file do not change, those that came from a
    /// server are asked for once more.
    fn forget(&self, range: &Range<u64>) -> bool {
        let _ = range;
        false
    }

    /// Returns a copy of `len` bytes from `offset` on. Fails with `Corrupt` if the source is
    /// shorter, before anything is allocated.
    fn read(&self, offset: u64, len: u64) -> Result<Bytes> {
        check_range(self.len(), offset, len)?;
        let mut buf = crate::codec::zeroed(len)?;
        self.read_at(offset, &mut buf)?;
        Ok(Bytes::from(buf))
    }
}

/// Fails with `Corrupt` unless `[offset, offset + len)` lies within `[0, total)`.
pub(crate) fn check_range(total: u64, offset: u64, len: u64) -> Result<()> {
    match offset.checked_add(len) {
        Some(end) if end <= total => Ok(()),
        _ => Err(truncated(total, offset, len)),
    }
}

/// Makes the error for a range past the end.
#[cold]
fn truncated(total: u64, offset: u64, len: u64) -> Error {
    Error::corrupt(format!(
        "truncated: expected {len} bytes at {offset:#x}, but the end is at {total:#x}"
    ))
}
