//! Which bytes an object has: its length and entity tag.
//!
//! **Invariant:** equal versions whose tag is strong have equal bytes.

/// The version of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectVersion {
    pub(crate) len: u64,
    pub(crate) etag: Option<String>,
}

impl ObjectVersion {
    /// Returns whether an equal version means equal bytes.
    pub(crate) fn is_strong(&self) -> bool {
        self.etag.as_deref().is_some_and(is_strong)
    }
}

/// Returns whether equal entity tags mean equal bytes.
pub(crate) fn is_strong(etag: &str) -> bool {
    !etag.starts_with("W/")
}
