//! Bytes in memory as a source: tests, images inside images.

use sinterfs_model::Result;

use super::{ReadAt, check_range, truncated};

/// Reads from a vector.
#[derive(Debug, Clone, Default)]
pub struct MemorySource(pub Vec<u8>);

impl ReadAt for MemorySource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let len = buf.len() as u64;
        check_range(self.len(), offset, len)?;
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.0.get(start..)?.get(..buf.len()))
            .ok_or_else(|| truncated(self.len(), offset, len))?;
        buf.copy_from_slice(bytes);
        Ok(())
    }
}
