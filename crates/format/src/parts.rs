//! What only some formats can do: a trait for each, which [`crate::Format`] and [`crate::Handle`]
//! return if the format has that part.

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::digest::Digests;
use sinterfs_block::{Bytes, ReadAt};
use sinterfs_model::{Ino, Result};

use crate::info::InfoRows;
use crate::read_options::ReadOptions;

/// A format whose images can store digests of themselves.
pub trait Digested {
    /// Reads the digests that an image has of itself; they are not trusted.
    fn digest(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions)
    -> Result<Option<OwnDigests>>;
}

/// The digests that an image stores of itself.
#[derive(Debug)]
pub struct OwnDigests {
    /// The offset in the source of the bytes that they cover.
    pub start: u64,
    /// The digests.
    pub digests: Digests,
    /// A signature of the root, or why it cannot be read.
    pub signature: Option<Result<Bytes>>,
}

/// A format of which something can be said about images that cannot be opened.
pub trait Surveyed {
    /// Returns what can be said of a damaged image.
    fn survey(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<InfoRows>;
}

/// A format that can say which parts of an image are as they were written.
pub trait Provable {
    /// Returns parts of an image that are as they were written, by their own checksums: not all of
    /// them, but enough to tell the image from others.
    fn intact_parts(&self, _: &Arc<dyn ReadAt>, _: &ReadOptions) -> Result<Vec<Range<u64>>> {
        Ok(Vec::new())
    }
    /// Returns the range of an image, from its own start on, that describes the rest; an empty
    /// range for formats that prove parts by checksums.
    fn head(&self) -> Range<u64> {
        0..0
    }
}

/// A format whose images have copies of some of their parts.
pub trait Mendable {
    /// Returns the parts of an image that differ from copies of them that it has, as the copies
    /// are; `None` for an image without copies. `Corrupt` if a copy that is needed is damaged, too.
    fn mend(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &ReadOptions,
    ) -> Result<Option<Vec<MendedPart>>>;
}

/// A part of an image, as a copy of it is.
#[derive(Debug, Clone)]
pub struct MendedPart {
    /// Its name in the format's words.
    pub what: String,
    /// Its offset in the file.
    pub offset: u64,
    /// Its bytes, as many as the damaged ones.
    pub bytes: Vec<u8>,
}

impl MendedPart {
    /// Returns the offset of its end in the file.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes.len() as u64)
    }
}

/// Reads short ranges, several at once, without reading what is around them.
pub type Peek<'a> = dyn Fn(&[Range<u64>]) -> Result<Vec<Vec<u8>>> + 'a;

/// A format whose images consist of sections, each with a digest in its header: what an older image
/// has of a new one is found without reading it.
pub trait Sectioned {
    /// Finds the parts of a new image, which begins its source, that an older one has, in the order
    /// of the image. `older` makes an error one about the older image.
    ///
    /// # Errors
    /// `Unsupported` for an image whose sections are not listed.
    fn older_parts(
        &self,
        new: (&Arc<dyn ReadAt>, &Peek<'_>),
        older: &Arc<dyn ReadAt>,
        options: &ReadOptions,
        about_older: &dyn Fn(sinterfs_model::Error) -> sinterfs_model::Error,
    ) -> Result<Vec<OlderPart>>;
}

/// A part of an image that an older one has after another beginning.
#[derive(Debug)]
pub struct OlderPart {
    /// Where the part is in the new image.
    pub range: Range<u64>,
    /// The bytes that it begins with.
    pub head: Vec<u8>,
    /// The offset of the bytes after these in the older image.
    pub at: u64,
}

/// An opened image that shows how its inodes are stored.
pub trait InodeFacts {
    /// Returns named facts about how an inode is stored, with the places of its content and the
    /// entries of a directory.
    fn inode_details(&self, ino: Ino) -> Result<InfoRows>;
}

/// An opened image that names the files that are needed first.
pub trait StartFirst {
    /// Returns the ranges of the file that a start needs first.
    fn start_ranges(&self) -> Result<Vec<Range<u64>>>;
    /// Announces to the source that these will be read.
    fn announce_start(&self) -> Result<()>;
    /// Decodes the blocks of a category of content into the cache, and returns their number.
    fn preload(&self, category: &str) -> Result<u64>;
}
