//! Where the content of an inode is, as bits of its format.

use super::format;

/// The data layout of an inode, as bits of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataLayout {
    /// In a row of blocks.
    Plain = 0,
    /// In pclusters with full indexes of 8 bytes, or in extents.
    CompressedFull = 1,
    /// In a row of blocks, with an inline tail.
    Inline = 2,
    /// In pclusters with compact indexes.
    CompressedCompact = 3,
    /// In chunks of one size.
    Chunks = 4,
}

impl DataLayout {
    /// Returns the layout of bits; `None` for others.
    pub(crate) fn from_bits(bits: u16) -> Option<Self> {
        Some(match bits {
            0 => Self::Plain,
            1 => Self::CompressedFull,
            2 => Self::Inline,
            3 => Self::CompressedCompact,
            4 => Self::Chunks,
            _ => return None,
        })
    }

    /// Returns its bits in the field `format` of an inode.
    pub(crate) fn format_bits(self) -> u16 {
        (self as u16) << format::LAYOUT_SHIFT
    }

    /// Returns the name that erofs-utils use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "flat-plain",
            Self::CompressedFull => "compressed-full",
            Self::Inline => "flat-inline",
            Self::CompressedCompact => "compressed-compact",
            Self::Chunks => "chunk-based",
        }
    }
}
