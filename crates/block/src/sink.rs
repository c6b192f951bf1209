//! The output of a writer of images.

use std::io::{self, Write};

/// Takes an image's bytes from front to back. The beginning can be replaced at the end, since a
/// superblock describes what follows it.
pub trait Sink: Write + Send {
    /// Replaces bytes that were written before; `offset` counts from the start of the image.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
}

/// An image in memory.
impl Sink for Vec<u8> {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(bytes.len())?));
        let old = range.and_then(|range| self.get_mut(range));
        let old = old.ok_or(io::ErrorKind::InvalidInput)?;
        old.copy_from_slice(bytes);
        Ok(())
    }
}
