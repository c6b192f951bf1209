//! Results of a map: ranges of content and their locations.

use crate::layout::Algorithm;
use crate::read::device::Address;
use crate::read::meta_offset::MetaOffset;

/// The location of the bytes of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentLocation {
    /// Nowhere: they are zeros.
    Hole,
    /// Uncompressed, from this address on.
    Stored(Address),
    /// Uncompressed in metadata.
    Inline(MetaOffset),
    /// In the packed inode, from this offset on.
    Packed(u64),
    /// In a pcluster, from its start on.
    Pcluster(Pcluster),
}

/// The location of the stored bytes of a pcluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PclusterLocation {
    /// On a device.
    Device(Address),
    /// In metadata.
    Inline(MetaOffset),
}

impl PclusterLocation {
    /// Returns the location of uncompressed bytes from an offset on.
    pub(super) fn content_at(self, skip: u64) -> ContentLocation {
        match self {
            Self::Device(address) => ContentLocation::Stored(address.skip(skip)),
            Self::Inline(meta) => ContentLocation::Inline(meta.skip(skip)),
        }
    }
}

impl std::fmt::Display for PclusterLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device(address) => write!(f, "{address}"),
            Self::Inline(meta) => write!(f, "{meta}"),
        }
    }
}

/// Compressed bytes and the length of their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pcluster {
    pub(crate) location: PclusterLocation,
    /// Stored bytes with padding; at most `CLUSTER_MAX`.
    pub(crate) stored: u64,
    /// Bytes of content; at most `DECODED_MAX`.
    pub(crate) decoded: u64,
    pub(crate) algorithm: Algorithm,
    /// Whether it holds more content than that.
    pub(crate) partial: bool,
}

impl std::fmt::Display for ContentLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hole => f.write_str("hole"),
            Self::Stored(address) => write!(f, "stored {address}"),
            Self::Inline(meta) => write!(f, "inline {meta}"),
            Self::Packed(offset) => write!(f, "packed {offset:#x}"),
            Self::Pcluster(cluster) => {
                let (name, partial) = (cluster.algorithm.name(), cluster.partial);
                write!(f, "{name} {}+{:#x}", cluster.location, cluster.stored)?;
                f.write_str(if partial { " partial" } else { "" })
            }
        }
    }
}

/// A range of an inode's content that is in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MappedExtent {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) location: ContentLocation,
}

impl MappedExtent {
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.len)
    }
}
