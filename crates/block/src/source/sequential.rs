//! A source read from front to back, as archives are unpacked.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use super::ReadAt;

/// Reads a source from its first byte to its last.
pub struct SequentialReader {
    source: Arc<dyn ReadAt>,
    position: u64,
}

impl SequentialReader {
    /// Begins at the first byte.
    pub fn new(source: Arc<dyn ReadAt>) -> Self {
        Self {
            source,
            position: 0,
        }
    }
}

impl Read for SequentialReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.source.len().saturating_sub(self.position);
        let count = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let buf = buf.split_at_mut(count).0;
        self.source.read_at(self.position, buf)?;
        self.position = self.position.saturating_add(count as u64);
        Ok(count)
    }
}

impl fmt::Debug for SequentialReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequentialReader")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
