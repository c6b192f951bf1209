//! Shared bytes.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Shared bytes; a clone copies a pointer.
#[derive(Clone)]
pub struct Bytes {
    bytes: Arc<Vec<u8>>,
    start: usize,
}

impl Bytes {
    /// Hides the first bytes.
    #[must_use]
    pub fn skip(mut self, count: usize) -> Self {
        self.start = self.start.saturating_add(count);
        self
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Arc::new(bytes).into()
    }
}

impl From<Arc<Vec<u8>>> for Bytes {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Self { bytes, start: 0 }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} bytes)", self.len())
    }
}
