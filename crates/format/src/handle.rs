//! An opened image as its format shows it.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_model::{Error, ExtentSource, Image, Ino, Loss, Result, StoredBlock};

use crate::info::InfoRows;
use crate::parts::{InodeFacts, StartFirst};
use crate::reuse::Reuse;

/// What a format can do with an opened image besides reading it.
pub trait Handle: Send + Sync {
    /// Returns the image.
    fn image(&self) -> &Arc<dyn Image>;
    /// Returns named facts about the image.
    fn details(&self) -> Result<InfoRows>;
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
    /// Returns the same errors, and errors that are not damage of a file's content.
    fn warnings(&self) -> Vec<Error> {
        self.damage()
    }
    /// Returns the cache of decoded blocks.
    fn cache(&self) -> &Arc<BlockCache>;
    /// Lets idle processors decode ahead of readers that wait often.
    fn decode_ahead(&self) {
        self.cache().decode_ahead(None);
    }
    /// Returns the number of bytes that all decoded blocks may take.
    fn decoded_bytes(&self) -> u64;
    /// Shows blocks as they are stored: for `None` all of them, if the format knows them at once;
    /// for a file those that it refers to, if the format knows them by files only.
    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()>;
    /// Returns whether blocks are numbered by their offsets, in bytes from the beginning of the
    /// image.
    fn blocks_are_offsets(&self) -> bool {
        true
    }

    /// Returns the facts about how inodes are stored.
    fn inode_facts(&self) -> Option<&dyn InodeFacts> {
        None
    }
    /// Returns what a start needs first, for formats whose images can name that.
    fn start_first(&self) -> Option<&dyn StartFirst> {
        None
    }
    /// Returns the image as one whose blocks a new image may take over, if the format can do that.
    fn reuse(&self) -> Option<&dyn Reuse> {
        None
    }
}

/// Shows the blocks of a file of a format that compresses nothing and knows blocks by files only.
pub fn uncompressed_blocks(
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
