//! A source of which it is found out what it is, and what is known so far.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::Format;
use sinterfs_model::Result;

use crate::formats;
use crate::image::disk::ChosenPartition;
use crate::open_options::OpenOptions;

/// What is known of the first bytes of a source.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    /// They were not compared with the formats.
    NotCompared,
    /// No format begins with them.
    Unknown,
    /// This format does.
    Of(&'static dyn Format),
}

impl Start {
    /// Returns the format of an image of which this is known.
    pub(crate) fn format(
        self,
        source: &Arc<dyn ReadAt>,
        options: &OpenOptions,
    ) -> Result<&'static dyn Format> {
        match self {
            Self::Of(format) => Ok(format),
            Self::Unknown => formats::searched(source, options),
            Self::NotCompared => formats::for_image(source, options),
        }
    }
}

/// The source of an image, and how it is opened.
pub(crate) struct Identified {
    pub(crate) source: Arc<dyn ReadAt>,
    pub(crate) options: OpenOptions,
    /// The disk, if the source is a partition of one.
    pub(crate) disk: Option<ChosenPartition>,
    /// What is known of its first bytes.
    pub(crate) start: Start,
}

impl Identified {
    pub(super) fn new(source: Arc<dyn ReadAt>, options: OpenOptions) -> Self {
        Self {
            source,
            options,
            disk: None,
            start: Start::NotCompared,
        }
    }

    /// Returns whether a format knows the first bytes.
    pub(super) fn is_known(&mut self) -> Result<bool> {
        if let Start::NotCompared = self.start {
            let found = formats::format_of(&self.source, &self.options)?;
            self.start = found.map_or(Start::Unknown, Start::Of);
        }
        Ok(matches!(self.start, Start::Of(_)))
    }
}
