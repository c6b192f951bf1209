//! What a source is: a compressed device, a disk with partitions, an image; and of which format.
//!
//! In: a source, and how it is to be opened. Out: the source of the image inside, its options, and
//! its format as far as that is known. **Invariant:** the first bytes of a source are compared with
//! each format once.

pub(crate) mod compressed_device;
pub(crate) mod disk;
pub(crate) mod partition;

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::Format;
use sinterfs_model::Result;

use crate::formats;
use crate::open_options::OpenOptions;
use disk::ChosenPartition;

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
    fn new(source: Arc<dyn ReadAt>, options: OpenOptions) -> Self {
        Self {
            source,
            options,
            disk: None,
            start: Start::NotCompared,
        }
    }

    /// Returns whether a format knows the first bytes.
    fn is_known(&mut self) -> Result<bool> {
        if let Start::NotCompared = self.start {
            let found = formats::format_of(&self.source, &self.options)?;
            self.start = found.map_or(Start::Unknown, Start::Of);
        }
        Ok(matches!(self.start, Start::Of(_)))
    }
}

/// Turns the source of a compressed device into its content, and a disk into one of its partitions;
/// others stay what they are. Reads the first bytes, so it fails where they are damaged.
pub(crate) fn identify(source: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Identified> {
    let mut whole = device_content(source, options)?;
    let Some(found) = partition::content(&mut whole)? else {
        return Ok(whole);
    };
    // devices are compressed as disks are, and as what is in their partitions
    let mut inside = device_content(found.source, found.options)?;
    inside.disk = Some(found.chosen);
    Ok(inside)
}

/// Turns the source of a compressed device into its content; others stay what they are.
pub(crate) fn device_content(source: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Identified> {
    let mut whole = Identified::new(source, options);
    let content = compressed_device::content(&mut whole)?;
    Ok(content.unwrap_or(whole))
}
