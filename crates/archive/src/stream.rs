//! Bytes of an archive from front to back, and how far they have been read.
//!
//! **Invariant:** no more is allocated than the caller requests, which bounds it; an end before the
//! requested bytes is an error with its position.

use std::io::{Cursor, ErrorKind, Read};

use sinterfs_model::{Error, Result};

/// How far to look past the end of an archive: more than the longest tape record.
pub(crate) const BEHIND: usize = 1 << 20;

/// The warning about bytes that follow an archive.
pub(crate) const MORE: &str = "the archive has data after its end, which is not read";

/// The warning about an archive without what ends it.
pub(crate) const NO_END: &str = "the archive has no end and may be cut off";

/// Bytes from front to back, of which some are skipped.
pub trait Stream: Read {
    /// Skips `len` bytes; returns how many there were, fewer only at the end.
    fn skip(&mut self, len: u64) -> std::io::Result<u64>;
}

impl<T: AsRef<[u8]>> Stream for Cursor<T> {
    fn skip(&mut self, len: u64) -> std::io::Result<u64> {
        let left = (self.get_ref().as_ref().len() as u64).saturating_sub(self.position());
        let len = len.min(left);
        self.set_position(self.position() + len);
        Ok(len)
    }
}

/// A stream with the number of bytes that were taken from it.
#[derive(Debug)]
pub(crate) struct CountedStream<S> {
    stream: S,
    position: u64,
}

impl<S: Stream> CountedStream<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            position: 0,
        }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Fills a buffer; returns how many bytes there were, fewer only at the end.
    pub(crate) fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.stream.read(rest) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        self.position += done as u64;
        Ok(done)
    }

    /// Reads a number of bytes.
    pub(crate) fn bytes(&mut self, len: usize, what: &'static str) -> Result<Vec<u8>> {
        let at = self.position;
        let mut bytes = vec![0; len];
        if self.fill(&mut bytes)? == len {
            Ok(bytes)
        } else {
            Err(cut(what, at))
        }
    }

    /// Returns whether anything but zeros comes next; not all of it is read.
    pub(crate) fn more_than_zeros(&mut self) -> Result<bool> {
        let mut step = [0; 4096];
        for _ in 0..BEHIND / step.len() {
            let len = self.fill(&mut step)?;
            if step.iter().take(len).any(|&byte| byte != 0) {
                return Ok(true);
            }
            if len < step.len() {
                break;
            }
        }
        Ok(false)
    }

    /// Skips a number of bytes.
    pub(crate) fn skip(&mut self, len: u64, what: &'static str) -> Result<()> {
        let skipped = self.stream.skip(len).map_err(failed)?;
        if skipped < len {
            return Err(cut(what, self.position));
        }
        self.position = self.position.saturating_add(len);
        Ok(())
    }

    /// Skips content and what it is filled up with, the last `padding` bytes of `len`, which may be
    /// missing at the end of the archive.
    pub(crate) fn skip_padded(&mut self, len: u64, padding: u64, what: &'static str) -> Result<()> {
        let skipped = self.stream.skip(len).map_err(failed)?;
        if skipped.saturating_add(padding) < len {
            return Err(cut(what, self.position));
        }
        self.position = self.position.saturating_add(skipped);
        Ok(())
    }
}

/// Makes the error of an archive that ends too soon.
#[cold]
pub(crate) fn cut(what: &'static str, at: u64) -> Error {
    Error::corrupt("the archive ends before it does").at(what, at)
}

#[cold]
fn failed(error: std::io::Error) -> Error {
    match error.kind() {
        // a decoder that does not like what it reads
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
            Error::corrupt("the compressed stream cannot be decoded").because(error)
        }
        _ => Error::io("cannot read the archive", error),
    }
}
