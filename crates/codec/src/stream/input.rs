//! The encoded bytes of concatenated streams, of which the next few can be looked at.
//!
//! **Invariant:** `position` counts the bytes that a decoder consumed, from the number that it
//! started with; nothing that was looked at is lost.

use std::io::{self, BufRead, ErrorKind, Read};

/// The number of first bytes that identify a format.
pub const START: usize = 14;

/// Bytes that decoders consume one after the other.
pub(super) struct Input<R> {
    stream: R,
    /// Bytes of the stream that were looked at, of which `used` were consumed and `len` are there.
    seen: [u8; START],
    used: usize,
    len: usize,
    position: u64,
}

impl<R: BufRead> Input<R> {
    /// Starts at a position, which is only counted from.
    pub(super) fn new(stream: R, position: u64) -> Self {
        Self {
            stream,
            seen: [0; START],
            used: 0,
            len: 0,
            position,
        }
    }

    /// Returns the position of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the next bytes, fewer than `START` only at the end.
    pub(super) fn peek(&mut self) -> io::Result<&[u8]> {
        self.seen.copy_within(self.used..self.len, 0);
        self.len -= self.used;
        self.used = 0;
        while let Some(rest) = self
            .seen
            .get_mut(self.len..)
            .filter(|rest| !rest.is_empty())
        {
            match self.stream.read(rest) {
                Ok(0) => break,
                Ok(count) => self.len += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.unused())
    }

    /// Skips zeros.
    pub(super) fn skip_zeros(&mut self) -> io::Result<()> {
        loop {
            let next = self.fill_buf()?;
            let zeros = next.iter().take_while(|&&byte| byte == 0).count();
            let is_last = zeros == 0 || zeros < next.len();
            self.consume(zeros);
            if is_last {
                return Ok(());
            }
        }
    }

    fn unused(&self) -> &[u8] {
        self.seen.get(self.used..self.len).unwrap_or_default()
    }
}

impl<R: BufRead> Read for Input<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buf)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used < self.len {
            return Ok(self.unused());
        }
        self.stream.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if self.used < self.len {
            self.used = self.len.min(self.used.saturating_add(count));
        } else {
            self.stream.consume(count);
        }
        self.position = self.position.saturating_add(count as u64);
    }
}
