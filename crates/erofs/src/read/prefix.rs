//! Long prefixes of names of extended attributes.

/// A long prefix: the number of a short one and what follows that.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    pub(super) base: u8,
    pub(super) infix: Vec<u8>,
}
