//! Information about an opened image: offset, sizes of tables, compressor options, stored blocks.
//!
//! In: an opened image. Out: values for `info` and `dump`.

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, ImageInfo, Ino, Result};
use zerocopy::FromBytes;

use super::content::BlockLocation;
use super::open::Squashfs;
use super::superblock::Superblock;
use super::xattrs::XattrLists;
use crate::layout::options::{Gzip, Lz4, Lzo, Xz, Zstd};
use crate::layout::{self, Compressor, Flags, MetadataHeader};

/// The compressor options stored in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "each holds the options of the codec it is named after"
)]
pub enum CompressorOptions {
    Gzip(Gzip),
    Xz(Xz),
    Lzo(Lzo),
    Lz4(Lz4),
    Zstd(Zstd),
}

/// A stored block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredBlock {
    /// The position in the image, which is the block's number in extents.
    pub position: u64,
    /// The stored length in bytes.
    pub len: u32,
    /// Whether it is not compressed.
    pub raw: bool,
    /// Whether it is a fragment block.
    pub fragment: bool,
}

impl Squashfs {
    /// Returns the superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.metadata.source.start()
    }

    /// Returns properties of the whole image.
    pub fn image_info(&self) -> &ImageInfo {
        &self.info
    }

    /// Returns the tables of owners and groups.
    pub fn ids(&self) -> (&[u32], &[u32]) {
        (&self.ids, &self.groups)
    }

    /// Returns the number of distinct attribute lists.
    pub fn xattr_lists(&self) -> u64 {
        self.xattrs.as_ref().map_or(0, XattrLists::count)
    }

    /// Returns whether there is an export table.
    pub fn has_exports(&self) -> bool {
        self.exports.is_some()
    }

    /// Visits the stored blocks that a file refers to.
    pub fn stored_blocks(&self, ino: Ino, visit: &mut dyn FnMut(StoredBlock)) -> Result<()> {
        let content = self.content(ino)?;
        let mut show = |stored: BlockLocation, fragment| {
            let BlockLocation { position, len, raw } = stored;
            visit(StoredBlock {
                position,
                len,
                raw,
                fragment,
            });
        };
        let count = content.blocks(self.superblock.block_size);
        if count > 0 {
            let mut blocks = self.blocks(ino, &content, 0)?;
            for _ in 0..count {
                let stored = blocks.next()?;
                if !stored.is_hole() {
                    show(stored, false);
                }
            }
        }
        if let Some((index, _)) = content.fragment {
            show(self.fragment(index)?, true);
        }
        Ok(())
    }

    /// Reads the compressor options; `None` if the image has none.
    pub fn compressor_options(&self) -> Result<Option<CompressorOptions>> {
        let superblock = &self.superblock;
        if superblock.major < 4 || !superblock.flags.has(Flags::COMPRESSOR_OPTIONS) {
            return Ok(None);
        }
        let at = size_of::<layout::Superblock>() as u64;
        let located = |error: Error| error.at("compressor options", self.metadata.file_offset(at));
        let mut bytes = [0; 10];
        let source = &self.metadata.source;
        let left = source.len().saturating_sub(at);
        let len = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let (bytes, _) = bytes.split_at_mut(len);
        source.read_at(at, bytes).map_err(located)?;
        let parsed = MetadataHeader::read_from_prefix(bytes)
            .ok()
            .filter(|(header, _)| header.is_raw())
            .and_then(|(header, rest)| rest.get(..usize::from(header.stored())))
            .and_then(|bytes| parse(superblock.compressor, bytes));
        parsed
            .map(Some)
            .ok_or_else(|| located(Error::corrupt("invalid compressor options")))
    }
}

fn parse(compressor: Compressor, bytes: &[u8]) -> Option<CompressorOptions> {
    Some(match compressor {
        Compressor::GZIP => CompressorOptions::Gzip(Gzip::read_from_bytes(bytes).ok()?),
        Compressor::XZ => CompressorOptions::Xz(Xz::read_from_bytes(bytes).ok()?),
        Compressor::LZO => CompressorOptions::Lzo(Lzo::read_from_bytes(bytes).ok()?),
        Compressor::LZ4 => CompressorOptions::Lz4(Lz4::read_from_bytes(bytes).ok()?),
        Compressor::ZSTD => CompressorOptions::Zstd(Zstd::read_from_bytes(bytes).ok()?),
        _ => return None,
    })
}
