//! Offsets in metadata: in the image itself, or in the metabox, a hidden inode.

use sinterfs_model::Error;

/// The location of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    /// In the image itself.
    Image,
    /// In the metabox.
    Metabox,
}

/// The offset of a byte of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetaOffset {
    pub(crate) area: Area,
    pub(crate) at: u64,
}

impl std::fmt::Display for MetaOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.area {
            Area::Image => write!(f, "{:#x}", self.at),
            Area::Metabox => write!(f, "{:#x} in the metabox", self.at),
        }
    }
}

impl MetaOffset {
    /// Creates an offset in the image itself.
    pub(crate) fn image(at: u64) -> Self {
        let area = Area::Image;
        Self { area, at }
    }

    /// Returns the offset the given number of bytes further on, or the largest offset, where
    /// nothing can be read.
    pub(crate) fn skip(self, bytes: u64) -> Self {
        Self {
            at: self.at.saturating_add(bytes),
            ..self
        }
    }

    /// Returns the next multiple of a number of bytes.
    pub(crate) fn align(self, unit: u64) -> Self {
        Self {
            at: self.at.checked_next_multiple_of(unit).unwrap_or(u64::MAX),
            ..self
        }
    }

    /// Adds the offset to an error.
    #[cold]
    pub(crate) fn locate(self, error: Error, structure: &str) -> Error {
        match self.area {
            Area::Image => error.at(structure.to_owned(), self.at),
            Area::Metabox => error.at(format!("{structure} in the metabox"), self.at),
        }
    }
}
