//! Bytes that are either owned or mapped from a file.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::mapping::Mapping;

/// Holds bytes that many may share; a clone copies a pointer.
#[derive(Clone)]
pub struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Owned(Arc<Vec<u8>>),
    Mapped(Arc<Mapping>),
}

impl Bytes {
    pub(super) fn mapped(mapping: Mapping) -> Self {
        Self(Repr::Mapped(Arc::new(mapping)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Owned(bytes) => bytes,
            Repr::Mapped(mapping) => mapping.bytes(),
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Repr::Owned(Arc::new(bytes)))
    }
}

impl From<Arc<Vec<u8>>> for Bytes {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Self(Repr::Owned(bytes))
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Repr::Owned(_) => "owned",
            Repr::Mapped(_) => "mapped",
        };
        write!(f, "Bytes({kind}, {} bytes)", self.len())
    }
}
