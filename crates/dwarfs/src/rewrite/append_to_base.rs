//! An image built on a base: blocks of the base that are used again are copied as stored.
//!
//! In: an opened image with the map of its content, and the input of a writer. Out: an image with
//! its own blocks first, then copied blocks. **Invariant:** a copied block was verified when it was
//! decoded and when it was copied; nothing else of the base is copied.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_model::{
    Base, Block, ContentMap, Error, Geometry, ImageWriter, Observer, Result, SegmentEncoder, Stage,
    Summary, Tally, Tree,
};
use sinterfs_workers::WorkerPermits;

use super::blocks::{BlockRules, Recoder};
use super::pipeline;
use crate::read::Dwarfs;
use crate::write::{DwarfsWriter, WriteOptions};

/// An image that a new one is built on.
pub struct BaseImage {
    image: Arc<Dwarfs>,
    content: ContentMap,
    blocks: u32,
    /// For error messages.
    path: PathBuf,
}

impl std::fmt::Debug for BaseImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseImage")
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

impl BaseImage {
    /// Creates a base from an image, the map of its content in its own blocks, and its path.
    pub fn new(image: Arc<Dwarfs>, content: ContentMap, path: PathBuf) -> Result<Self> {
        let blocks = u32::try_from(image.block_count())
            .map_err(|_| Error::limit("more than 4294967295 blocks in a DwarFS image"))?;
        Ok(Self {
            image,
            content,
            blocks,
            path,
        })
    }
}

impl Base for BaseImage {
    fn blocks(&self) -> u32 {
        self.blocks
    }

    fn block_size(&self) -> u64 {
        self.image.block_size()
    }

    fn decode(&self, block: u32) -> Result<Vec<u8>> {
        let limit = self.image.block_size();
        let decoded = self.image.with_block(block, |range, header| {
            self.image.reader.decode(range, header, limit)
        });
        decoded.map_err(|error| error.path(&self.path))
    }

    fn content(&self) -> &ContentMap {
        &self.content
    }
}

/// A `DwarfsWriter` that copies blocks of a base.
#[derive(Debug)]
pub struct AppendingWriter {
    writer: Box<DwarfsWriter>,
    base: Arc<BaseImage>,
    /// The size of new blocks in bytes; copied ones may be larger.
    block_size: u32,
    threads: usize,
}

impl AppendingWriter {
    /// Starts an image; `threads` (0: one for each processor) copy blocks. `Invalid` for options
    /// that the format does not have.
    pub fn new(
        out: Box<dyn Write + Send>,
        options: WriteOptions,
        base: BaseImage,
        threads: usize,
    ) -> Result<Self> {
        let block_size = 1_u32.checked_shl(options.block_size_bits.into());
        let bits = base.image.block_size().trailing_zeros();
        let options = WriteOptions {
            block_size_bits: options
                .block_size_bits
                .max(u8::try_from(bits).unwrap_or(u8::MAX)),
            ..options
        };
        Ok(Self {
            writer: Box::new(DwarfsWriter::new(out, options)?),
            base: Arc::new(base),
            block_size: block_size.unwrap_or(u32::MAX),
            threads: sinterfs_workers::thread_count(threads),
        })
    }
}

impl ImageWriter for AppendingWriter {
    fn geometry(&self) -> Geometry {
        Geometry::Solid {
            block_size: self.block_size,
        }
    }

    fn base(&self) -> Option<Arc<dyn Base>> {
        Some(Arc::clone(&self.base) as _)
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        self.writer.encoder()
    }

    fn put(&mut self, block: Block) -> Result<()> {
        self.writer.put(block)
    }

    fn put_base_blocks(&mut self, blocks: &[u32], observer: &dyn Observer) -> Result<()> {
        let recoder = Recoder::new(&self.base.image, &BlockRules::default())?;
        let first = self.writer.number()?;
        let count = u32::try_from(blocks.len())
            .ok()
            .filter(|count| first.checked_add(*count).is_some())
            .ok_or_else(|| Error::limit("more than 4294967295 blocks in a DwarFS image"))?;
        let copy = |index: u32| {
            let number = usize::try_from(index).ok().and_then(|at| blocks.get(at));
            let number =
                number.ok_or_else(|| Error::invalid("a block that the base does not have"))?;
            let taken = recoder.copy_as(*number, first.saturating_add(index));
            taken.map_err(|error| error.path(&self.base.path))
        };
        let writer = &mut self.writer;
        let permits = WorkerPermits::default();
        pipeline::in_order(count, self.threads, &permits, observer, copy, |done| {
            let tally = Tally {
                items: 1,
                bytes: u64::from(done.decoded_len),
                stored: done.bytes.len() as u64,
            };
            writer.put_section(done.category, done.decoded_len, done.bytes)?;
            observer.advance(Stage::Commit, tally);
            Ok(())
        })
    }

    fn finish(self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        self.writer.finish(tree, map)
    }
}
