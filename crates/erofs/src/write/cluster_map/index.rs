//! The index of an lcluster, before it has a form.

use crate::layout::compressed::ClusterType;

/// The start of a pcluster, in the file and in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) start: u64,
    pub(super) block: u32,
    pub(super) blocks: u16,
    pub(super) kind: ClusterType,
    /// Whether the pcluster holds more content.
    pub(super) partial: bool,
}

/// The index of an lcluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    /// A pcluster begins at this offset of the lcluster.
    Head { offset: u16, head: Head },
    /// None begins: the distances to the last head, and to the next one or the end.
    Behind { back: u16, forth: u16 },
    /// None begins here, but one began in the previous lcluster and has this number of blocks.
    Blocks { blocks: u16, forth: u16 },
}
