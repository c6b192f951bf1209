//! Copies of sources, with their digests.
//!
//! In: a source. Out: its bytes, the digest and the length of what was copied. **Invariant:** what
//! comes next of a remote source is on its way while bytes are written.

use std::sync::Arc;

use sinterfs_block::{ReadAt, SequentialReader};
use sinterfs_model::{Error, Result};

/// Bytes that are on their way while a remote object is copied.
const COPY_AHEAD: u64 = 32 << 20;

/// Copies a source to a file or a stream; returns the digest (`sha256:...`) and the length of what
/// was copied.
pub(crate) fn copy_hashed(
    source: Arc<dyn ReadAt>,
    to: impl std::io::Write,
) -> Result<(String, u64)> {
    let copying = Copying {
        from: SequentialReader::new(Arc::clone(&source)),
        source,
        at: 0,
        hinted: 0,
        to,
    };
    let copied = sinterfs_block::checksum::sha256_of(copying);
    let (hash, len) = copied.map_err(|error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::io("cannot write a copy", error),
    })?;
    Ok((
        format!("sha256:{}", sinterfs_block::verity::hex(&hash)),
        len,
    ))
}

/// Writes what is read, and has the source fetch what comes next.
struct Copying<W> {
    source: Arc<dyn ReadAt>,
    from: SequentialReader,
    at: u64,
    /// The end of the bytes that were announced to the source.
    hinted: u64,
    to: W,
}

impl<W: std::io::Write> std::io::Read for Copying<W> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        if self.hinted < self.source.len() && self.at + COPY_AHEAD / 2 >= self.hinted {
            let end = self.source.len().min(self.at + COPY_AHEAD);
            self.source.will_need(&[self.hinted..end]);
            self.hinted = end;
        }
        let count = self.from.read(buf)?;
        self.to.write_all(buf.split_at(count).0)?;
        self.at += count as u64;
        Ok(count)
    }
}
