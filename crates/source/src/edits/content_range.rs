//! The content of a file that is a range of another one.
//!
//! Enters the content of the other one, and a range of it; leaves content of its own.
//! **Invariant:** no byte outside of the range is read.

use sinterfs_model::{Error, Extent, ExtentSource, FileContent, Result};

/// A range of a file.
pub(super) struct ContentRange {
    pub(super) inner: Box<dyn FileContent>,
    /// The first byte.
    pub(super) start: u64,
    pub(super) len: u64,
}

impl FileContent for ContentRange {
    fn len(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let all = Extent {
            offset: 0,
            len: self.len,
            source: ExtentSource::Block {
                block: 0,
                offset: 0,
            },
        };
        Ok(if self.len == 0 { Vec::new() } else { vec![all] })
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let left = self.len.saturating_sub(offset);
        let count = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let wanted = buf.split_at_mut(count).0;
        let read = self
            .inner
            .read_at(self.start.saturating_add(offset), wanted)?;
        if read < count {
            return Err(Error::invalid("the file has become shorter"));
        }
        Ok(read)
    }
}
