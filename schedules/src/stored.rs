//! Sources of blocks that are stored as they are, which no thread waits for: no test has any.

use std::sync::Arc;

use sinterfs_model::Result;

/// As in the crate of blocks, without what the cache does not call.
pub trait ReadAt: Send + Sync {
    fn len(&self) -> u64;
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()>;
}

/// A source, whole.
#[derive(Clone)]
pub struct StoredSource(Arc<dyn ReadAt>);

impl StoredSource {
    pub fn from(source: Arc<dyn ReadAt>, _start: u64) -> Result<Self> {
        Ok(Self(source))
    }

    pub fn memory(&self) -> u64 {
        0
    }
}

impl ReadAt for StoredSource {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, buf)
    }
}

impl std::fmt::Debug for StoredSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoredSource")
    }
}
