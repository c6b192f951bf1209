//! A signature in a registry: plain data.

/// A signature that is attached to an image in a registry, not compared with anything yet.
pub(crate) struct AttachedSignature {
    pub(crate) signature: Vec<u8>,
    /// Digests of the whole file, if the image has none of its own.
    pub(crate) digests: Option<Vec<u8>>,
}
