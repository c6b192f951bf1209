//! Geometry: how a format allows content to be cut.
//!
//! **Invariant:** plain data; the segment stage follows it and the writer of the image relies on it
//! to know what an extent of the content map means.

/// How a format allows content to be cut.
///
/// A pipeline that cannot cut in this way has to refuse it (`Unsupported`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Geometry {
    /// Content of many files is packed into solid blocks; files are lists of byte ranges. An
    /// extent may begin anywhere in any block, and a hole may begin and end at any byte.
    Solid {
        /// The largest block in bytes before encoding.
        block_size: u32,
    },
    /// Content is cut into units of one size. Every block holds one unit of one file, or it is a
    /// fragment: tails of several files of one category.
    ///
    /// The extents of a file follow its units: each but the last is a unit's `Data` at offset 0 of
    /// a separate block, or a `Hole` of whole units (at the end of a file: up to that end). The
    /// blocks of a file have consecutive numbers, even with holes between them. The tail after the
    /// last whole unit is a shorter block or part of a fragment, as `tails` specifies.
    PerFile {
        /// Bytes of a unit; a fragment has no more.
        unit: u32,
        /// The place of the tail of a file.
        tails: TailPlacement,
        /// Whether units of zeros are holes; if not, holes are data.
        holes: bool,
        /// The shortest repeat that segments report; `None` if the format does not use repeats.
        repeats: Option<u32>,
        /// How tails share bytes of fragments.
        sharing: TailSharing,
    },
    /// All content is one stream, cut into blocks of one size; only the last one is shorter, and
    /// with `even_end` the one before it, which then ends where a content does.
    ///
    /// A content is a range of the stream, with zeros for its holes: its extents are `Data`, each
    /// in the block after the previous extent's. Segments have the offsets at which contents begin.
    Stream {
        /// Bytes of a block before encoding.
        block_size: u32,
        /// Whether the last two blocks share what is left evenly, so that threads that encode
        /// them end together.
        even_end: bool,
    },
}

/// Which part of a tail may be stored by referring to bytes that a fragment has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailSharing {
    /// None: equal tails are stored once for each content.
    Never,
    /// The whole tail, which may be anywhere in a fragment and overlap other tails.
    Whole,
    /// The whole tail, or its last bytes from a multiple of `align` on; the bytes before become a
    /// separate block, which is shorter than a unit and not the last of the file.
    Suffix {
        /// The multiple in bytes.
        align: u32,
        /// The fewest bytes that are shared.
        least: u32,
    },
}

/// The place of the tail of a file, the bytes after its last whole unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailPlacement {
    /// In a separate block.
    Alone,
    /// In a fragment if the file has no whole unit, otherwise in a separate block.
    Small,
    /// In a fragment.
    Shared,
    /// In a fragment if the tail has fewer bytes than these, otherwise in a separate block.
    Below(u32),
    /// In a fragment if the tail has fewer bytes than these and the file has no whole unit,
    /// otherwise in a separate block.
    SmallBelow(u32),
}

/// The layout of one file, if content is cut file by file; unset fields are as for all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileLayout {
    /// Whether the tail may be in a fragment.
    pub fragments: Option<bool>,
    /// Whether it may be there if the file has a whole unit, too.
    pub large_tails: Option<bool>,
    /// The multiple of bytes at which the first block is stored; `None` for anywhere.
    pub align: Option<u32>,
}

impl TailPlacement {
    /// Returns the placement for a file.
    #[must_use]
    pub fn of_file(self, layout: FileLayout) -> Self {
        if layout.fragments.is_none() && layout.large_tails.is_none() {
            return self;
        }
        let fragments = layout.fragments.unwrap_or(self != Self::Alone);
        let is_large = || matches!(self, Self::Shared | Self::Below(_));
        match (fragments, layout.large_tails.unwrap_or_else(is_large)) {
            (false, _) => Self::Alone,
            (true, false) => Self::Small,
            (true, true) => Self::Shared,
        }
    }

    /// Returns whether a tail of `len` bytes goes into a fragment.
    pub fn is_in_fragment(self, len: u64, has_units: bool) -> bool {
        match self {
            Self::Alone => false,
            Self::Small => !has_units,
            Self::Shared => true,
            Self::Below(limit) => len < u64::from(limit),
            Self::SmallBelow(limit) => !has_units && len < u64::from(limit),
        }
    }
}
