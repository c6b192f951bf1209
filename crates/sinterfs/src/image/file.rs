//! The content of a regular file of an image.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use sinterfs_model::{Error, FileType, Image, Ino, Inode, Result};

use super::metadata::Metadata;

/// Bytes that [`File::read_all`] reads first; each step reads twice as many.
const FIRST_STEP: usize = 1 << 20;

/// A regular file that is open for reading.
///
/// Clones share nothing but the image: each has its own position.
#[derive(Clone)]
pub struct File {
    image: Arc<dyn Image>,
    inode: Inode,
    position: u64,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("inode", &self.inode)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl File {
    pub(super) fn open(image: Arc<dyn Image>, ino: Ino) -> Result<Self> {
        let inode = image.inode(ino)?;
        if inode.kind != FileType::File {
            return Err(Error::invalid("not a regular file"));
        }
        Ok(Self {
            image,
            inode,
            position: 0,
        })
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.inode.size
    }

    /// Returns whether the file has no content.
    pub fn is_empty(&self) -> bool {
        self.inode.size == 0
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> Metadata {
        Metadata::new(self.inode)
    }

    /// Reads bytes from an offset on, without regard to the position; fewer than `buf` holds only
    /// at the end of the file.
    ///
    /// # Errors
    /// `Corrupt` for a damaged block, `Io` for a file that cannot be read.
    pub fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.image.read_at(self.inode.ino, offset, buf)
    }

    /// Reads the whole content, whatever the position.
    ///
    /// # Errors
    /// As [`File::read_at`]; `Limit` for more content than memory holds.
    pub fn read_all(&self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        // no memory for a length that nothing vouches for
        let mut step = FIRST_STEP;
        loop {
            let done = content.len();
            let more = usize::try_from(self.len().saturating_sub(done as u64));
            let more = more.unwrap_or(usize::MAX).min(step);
            let room = content.try_reserve(more);
            room.map_err(|_| Error::limit("a file that memory does not hold"))?;
            content.resize(done + more, 0);
            let count = match content.get_mut(done..) {
                Some(rest) if !rest.is_empty() => self.read_at(done as u64, rest)?,
                _ => 0,
            };
            content.truncate(done + count);
            if count == 0 {
                return Ok(content);
            }
            step = step.saturating_mul(2);
        }
    }
}

impl Read for File {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.read_at(self.position, buf)?;
        self.position = self.position.saturating_add(count as u64);
        Ok(count)
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.len().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "a position out of range");
        self.position = position.ok_or_else(invalid)?;
        Ok(self.position)
    }
}
