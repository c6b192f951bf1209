//! The output of the image: buffered bytes to the sink, their count and their hash.

use sinterfs_block::Sink;
use sinterfs_block::checksum::Xxh3;
use sinterfs_model::{Error, Result};

use super::limits::{BLOCK, BlockSize};

/// The number of bytes that are written at once.
const WRITE_LEN: usize = 1 << 20;

/// An output that is written from front to back.
pub(super) struct ImageOut {
    sink: Box<dyn Sink>,
    /// Bytes of an EROFS block.
    block: u64,
    /// The offset of the next byte, after the buffered bytes.
    pub(super) offset: u64,
    hash: Xxh3,
    waiting: Vec<u8>,
}

impl ImageOut {
    /// Starts with a block of zeros, where the superblock, or what identifies a device, will be.
    pub(super) fn new(sink: Box<dyn Sink>, block: BlockSize) -> Result<Self> {
        let mut out = Self {
            sink,
            block: block.bytes(),
            offset: 0,
            hash: Xxh3::default(),
            waiting: Vec::new(),
        };
        out.write(&[0; BLOCK as usize])?;
        Ok(out)
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.waiting.extend_from_slice(bytes);
        self.offset += bytes.len() as u64;
        if self.waiting.len() >= WRITE_LEN {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Pads the last block with zeros and returns the number of the next.
    pub(super) fn fill_block(&mut self) -> Result<u64> {
        let fill = self.offset.next_multiple_of(self.block) - self.offset;
        self.fill_to(self.offset + fill)?;
        Ok(self.offset / self.block)
    }

    /// Writes zeros up to an offset that is less than a block ahead.
    pub(super) fn fill_to(&mut self, place: u64) -> Result<()> {
        const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];
        let len = place.checked_sub(self.offset).map(usize::try_from);
        let zeros = len.and_then(|len| ZEROS.get(..len.ok()?));
        self.write(zeros.ok_or_else(|| Error::invalid("parts of the image overlap"))?)
    }

    fn flush(&mut self) -> Result<()> {
        self.hash.update(&self.waiting);
        self.sink.write_all(&self.waiting).map_err(cannot_write)?;
        self.waiting.clear();
        Ok(())
    }

    /// Returns a hash of everything that was written.
    pub(super) fn hash(&mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.hash.digest())
    }

    /// Replaces the first block, and ends the image.
    pub(super) fn end(&mut self, first: &[u8]) -> Result<()> {
        self.flush()?;
        self.sink.patch(0, first).map_err(cannot_write)?;
        self.sink.flush().map_err(cannot_write)
    }
}

#[cold]
fn cannot_write(error: std::io::Error) -> Error {
    Error::io("cannot write the image", error)
}
