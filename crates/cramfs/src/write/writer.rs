//! `CramfsWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes, to a sink, from front to back.
//!
//! Inodes precede content and refer to it, so blocks are kept until the end: at most 256 MiB, the
//! most that the format can address.

use std::fmt;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_model::{
    Block, ContentMap, Error, Geometry, ImageWriter, Preceded, Result, SegmentEncoder, Summary,
    TailPlacement, TailSharing, Tree,
};

use super::contents::too_large;
use super::inventory::Inventory;
use super::losses::losses;
use super::options::WriteOptions;
use super::parts::ImageParts;
use super::zlib_encoder::ZlibEncoder;
use crate::layout::{FILE_LIMIT, OFFSET_LIMIT};

/// Writes an image when all content is known.
///
/// Memory: the encoded blocks and 24 bytes for each; `finish` takes about 100 bytes per name, and
/// the listings.
pub struct CramfsWriter {
    out: Box<dyn Sink>,
    options: WriteOptions,
    /// The encoded blocks; empty for files that are too large.
    blocks: Vec<Vec<u8>>,
    /// The number of blocks since the last hole or the start of a content.
    run: u64,
    raw_bytes: u64,
    block_bytes: u64,
}

impl fmt::Debug for CramfsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CramfsWriter")
            .field("options", &self.options)
            .field("blocks", &self.blocks.len())
            .finish_non_exhaustive()
    }
}

impl CramfsWriter {
    /// Starts an image. `Invalid` for options that the format does not have.
    pub fn new(out: Box<dyn Sink>, options: WriteOptions) -> Result<Self> {
        options.check()?;
        Ok(Self {
            out,
            options,
            blocks: Vec::new(),
            run: 0,
            raw_bytes: 0,
            block_bytes: 0,
        })
    }

    /// Drops the blocks of the content that is being written once it is too large to be stored.
    fn drop_large(&mut self, preceded: Preceded) {
        self.run = match preceded {
            Preceded::BySegments => self.run + 1,
            Preceded::ByNothing | Preceded::ByHole => 1,
        };
        let most = FILE_LIMIT / u64::from(self.options.block_size);
        let dropped = match self.run {
            run if run <= most => 0,
            run if run == most + 1 => usize::try_from(run).unwrap_or(0),
            _ => 1,
        };
        for block in self.blocks.iter_mut().rev().take(dropped) {
            self.block_bytes -= block.len() as u64;
            *block = Vec::new();
        }
    }
}

impl ImageWriter for CramfsWriter {
    fn geometry(&self) -> Geometry {
        Geometry::PerFile {
            unit: self.options.block_size,
            tails: TailPlacement::Alone,
            holes: self.options.own.holes,
            repeats: None,
            sharing: TailSharing::Never,
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(ZlibEncoder {
            compression: self.options.compression,
            block_size: self.options.block_size,
        })
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let (number, expected) = (block.sequence, self.blocks.len());
        if number as usize != expected || block.bytes.is_empty() {
            return Err(Error::invalid(format!(
                "block {number} instead of block {expected}"
            )));
        }
        self.raw_bytes += u64::from(block.decoded_len);
        self.block_bytes += block.bytes.len() as u64;
        let preceded = block.preceded();
        self.blocks.push(block.bytes);
        self.drop_large(preceded);
        if self.block_bytes > OFFSET_LIMIT + 2 * FILE_LIMIT {
            return Err(too_large());
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let inventory = Inventory::new(tree, map);
        let parts = ImageParts::new(&self.options, (tree, map), &inventory, &self.blocks)?;
        let (out, cannot_write) = (&mut self.out, |error| {
            Error::io("cannot write the image", error)
        });
        parts.emit(&mut |bytes| out.write_all(bytes).map_err(cannot_write))?;
        out.flush().map_err(cannot_write)?;
        let image_bytes = parts.len();
        Ok(Summary {
            image_bytes,
            blocks: self.blocks.len() as u64,
            raw_bytes: self.raw_bytes,
            block_bytes: self.block_bytes,
            metadata_bytes: image_bytes.saturating_sub(self.block_bytes),
            root_digest: None,
            losses: losses(tree, &inventory),
        })
    }
}
