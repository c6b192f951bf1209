//! An opened image as its format shows it: what the registry's rows implement for reading.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use sinterfs_block::Bytes;
use sinterfs_block::cache::BlockCache;
use sinterfs_block::digest::Digests;
use sinterfs_model::{Error, ExtentSource, Image, Ino, Loss, Result};
use sinterfs_ops::StoredBlock;

use crate::info::InfoRows;
#[cfg(feature = "write")]
use crate::write::reuse::Reuse;

/// How sure a format is that an image is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bid {
    /// Not its own.
    No,
    /// Its own, after this many bytes of something else.
    Behind(u64),
    /// Its own from the first byte on.
    Certain,
}

impl Bid {
    /// Returns the bid of a format whose images begin where they are looked for.
    pub fn if_certain(is_image: bool) -> Self {
        if is_image { Self::Certain } else { Self::No }
    }

    /// Returns whether this bid is better: of two images behind something else, the one that
    /// starts first can hold the other, not the reverse.
    pub fn beats(self, other: Self) -> bool {
        match (self, other) {
            (Self::No, _) | (_, Self::Certain) => false,
            (_, Self::No) | (Self::Certain, _) => true,
            (Self::Behind(this), Self::Behind(that)) => this < that,
        }
    }
}

/// The digests that an image stores of its own bytes.
#[derive(Debug)]
pub struct OwnDigests {
    /// The offset in the source of the bytes that they cover.
    pub start: u64,
    /// The digests.
    pub digests: Digests,
    /// A signature of the root, or why it cannot be read.
    pub signature: Option<Result<Bytes>>,
}

/// A part of an image, as a copy of it is.
#[cfg(feature = "write")]
#[derive(Debug, Clone)]
pub struct MendedPart {
    /// Its name in the format's words.
    pub what: String,
    /// Its offset in the file.
    pub offset: u64,
    /// Its bytes, as many as the damaged ones.
    pub bytes: Vec<u8>,
}

#[cfg(feature = "write")]
impl MendedPart {
    /// Returns the offset of its end in the file.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes.len() as u64)
    }
}

/// What a format can do with an opened image besides reading it.
#[cfg_attr(
    not(feature = "write"),
    allow(dead_code, reason = "some of it is for writers")
)]
pub trait Handle: Send + Sync {
    /// Returns the image.
    fn image(&self) -> &Arc<dyn Image>;
    /// Returns named facts about the image.
    fn details(&self) -> Result<InfoRows>;
    /// Returns named facts about how an inode is stored, with the places of its content and the
    /// entries of a directory; `None` where the format shows none.
    fn inode_details(&self, ino: Ino) -> Result<Option<InfoRows>> {
        let _ = ino;
        Ok(None)
    }
    /// Writes all structures as text.
    fn dump(&self, out: &mut dyn Write) -> Result<()>;
    /// Returns the offset of the image in its file in bytes.
    fn offset(&self) -> u64;
    /// Returns what the image holds besides what `Image` shows: it is lost where metadata is made
    /// anew.
    fn unrepresented(&self) -> Result<Vec<Loss>> {
        Ok(Vec::new())
    }
    /// Returns the full names of the extended attributes that are named streams in the image, and
    /// how many streams these are.
    fn streams_as_attributes(&self) -> (BTreeSet<Vec<u8>>, u64) {
        (BTreeSet::new(), 0)
    }
    /// Returns damage without which all of the image can be read: to what is stored twice, or is
    /// not needed.
    fn damage(&self) -> Vec<Error> {
        Vec::new()
    }
    /// Returns the same, and what cannot be read although it is not damage of a file's content.
    fn warnings(&self) -> Vec<Error> {
        self.damage()
    }
    /// Returns the cache of decoded blocks.
    fn cache(&self) -> &Arc<BlockCache>;
    /// Lets idle processors decode ahead of readers that wait often.
    fn decode_ahead(&self) {
        self.cache().decode_ahead(None);
    }
    /// Returns the ranges of the file that a start needs first, if the image names them.
    fn start_ranges(&self) -> Result<Vec<Range<u64>>> {
        Ok(Vec::new())
    }
    /// Decodes the blocks of a category of content into the cache, and returns how many there are;
    /// 0 where the format has no categories.
    fn preload(&self, category: &str) -> Result<u64> {
        let _ = category;
        Ok(0)
    }
    /// Announces to the source that these will be read.
    fn announce_start(&self) -> Result<()> {
        Ok(())
    }
    /// Returns the number of bytes that all decoded blocks may take.
    fn decoded_bytes(&self) -> u64;
    /// Shows blocks as they are stored: for `None` all of them, if the format knows them at once;
    /// for a file those that it refers to, if the format knows them by files only.
    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()>;
    /// Returns whether blocks are numbered by their offsets, in bytes from the beginning of the
    /// image.
    #[cfg(all(feature = "remote", feature = "write"))]
    fn blocks_are_offsets(&self) -> bool {
        true
    }
    /// Returns the image as one whose blocks a new image may take over, if the format can do that.
    #[cfg(feature = "write")]
    fn reuse(&self) -> Option<&dyn Reuse> {
        None
    }
}

/// Shows the blocks of a file of a format that compresses nothing and knows blocks by files only.
pub(crate) fn uncompressed_blocks(
    image: &dyn Image,
    of: Option<Ino>,
    visit: &mut dyn FnMut(StoredBlock<'_>),
) -> Result<()> {
    let Some(file) = of else {
        return Ok(());
    };
    image.extents(file, 0, &mut |extent| {
        if let ExtentSource::Block { block, .. } = extent.source {
            visit(StoredBlock {
                block,
                stored: extent.len,
                codec: "none",
                category: "",
            });
        }
        ControlFlow::Continue(())
    })
}
