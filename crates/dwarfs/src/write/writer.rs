//! `DwarfsWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes to a sink that is never sought in.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use block::codec::Encoding;
use model::{
    Block, Category, ContentMap, Error, Geometry, ImageWriter, Loss, Result, Segment,
    SegmentEncoder, Summary, Tree,
};

use super::history;
use super::metadata::{Blocks, Metadata, metadata};
use super::options::WriteOptions;
use super::section::{Index, section};
use crate::layout::{SectionHeaderV2, SectionType};

/// Writes an image to a sink from front to back, so that the sink may be a pipe.
///
/// Memory: 13 bytes per block while blocks come. `finish` takes up to 150 bytes per name besides
/// tree and map (measured: 94 with packed tables, 116 without, for 10^6 files), and what the
/// metadata's codec takes for input of that size: for zstd 22 that is some 16 times the metadata,
/// up to about 800 MB.
pub struct DwarfsWriter {
    out: Box<dyn Write + Send>,
    options: WriteOptions,
    index: Index,
    /// Bytes written so far.
    offset: u64,
    blocks: Blocks,
    summary: Summary,
}

impl fmt::Debug for DwarfsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DwarfsWriter")
            .field("options", &self.options)
            .field("offset", &self.offset)
            .field("blocks", &self.blocks.lens.len())
            .finish_non_exhaustive()
    }
}

impl DwarfsWriter {
    /// Starts an image; `Invalid` for options that the format does not have.
    pub fn new(out: Box<dyn Write + Send>, options: WriteOptions) -> Result<Self> {
        options.check()?;
        Ok(Self {
            out,
            options,
            index: Index::default(),
            offset: 0,
            blocks: Blocks::default(),
            summary: Summary::default(),
        })
    }

    fn append(&mut self, kind: SectionType, bytes: &[u8]) -> Result<()> {
        self.index.push(kind, self.offset)?;
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out
            .write_all(bytes)
            .map_err(|error| Error::io("cannot write the image", error))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Tells the number of the next section, when so many have been written after the blocks.
    fn number(&self, after_blocks: u32) -> Result<u32> {
        let blocks = u32::try_from(self.blocks.lens.len()).ok();
        blocks
            .and_then(|blocks| blocks.checked_add(after_blocks))
            .ok_or_else(|| Error::limit("more than 4294967295 sections in a DwarFS image"))
    }

    fn append_metadata(&mut self, metadata: &Metadata) -> Result<()> {
        let parts = [
            (SectionType::METADATA_V2_SCHEMA, &metadata.frozen.schema),
            (SectionType::METADATA_V2, &metadata.frozen.data),
        ];
        let start = self.offset;
        for (number, (kind, raw)) in (0..).zip(parts) {
            let encoding = &self.options.metadata_encoding;
            let bytes = section(self.number(number)?, kind, encoding, raw)?;
            self.append(kind, &bytes)?;
        }
        self.summary.metadata_bytes = self.offset - start;
        Ok(())
    }

    /// Appends the history, if there is one, and tells the number of the next section.
    fn append_history(&mut self) -> Result<u32> {
        let number = self.number(2)?;
        let Some(info) = &self.options.history else {
            return Ok(number);
        };
        let raw = history::encode(info, &self.options.version_string);
        let encoding = &self.options.metadata_encoding;
        let bytes = section(number, SectionType::HISTORY, encoding, &raw)?;
        self.append(SectionType::HISTORY, &bytes)?;
        self.number(3)
    }
}

impl ImageWriter for DwarfsWriter {
    fn geometry(&self) -> Geometry {
        Geometry::Solid {
            block_size: self.options.block_size(),
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        let WriteOptions { encoding, .. } = self.options;
        Arc::new(BlockEncoder {
            encoding,
            block_size: self.options.block_size(),
        })
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let expected = self.number(0)?;
        if block.sequence != expected {
            return Err(Error::invalid(format!(
                "block {} was put where {expected} is next",
                block.sequence
            )));
        }
        if block.raw_len > self.options.block_size() {
            let size = self.options.block_size();
            let len = block.raw_len;
            return Err(Error::invalid(format!(
                "block {expected}: {len} bytes, more than {size}"
            )));
        }
        if block.bytes.len() < SectionHeaderV2::SIZE {
            return Err(Error::invalid(format!(
                "block {expected}: {} bytes are no section",
                block.bytes.len()
            )));
        }
        self.append(SectionType::BLOCK, &block.bytes)?;
        self.blocks.categories.push(block.category);
        self.blocks.lens.push(block.raw_len);
        self.summary.raw_bytes += u64::from(block.raw_len);
        self.summary.block_bytes += block.bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let metadata = metadata(tree, map, &self.blocks, &self.options)?;
        self.append_metadata(&metadata)?;
        let number = self.append_history()?;
        if self.options.section_index {
            let index = std::mem::take(&mut self.index).section(number, self.offset)?;
            self.write(&index)?;
        }
        self.out
            .flush()
            .map_err(|error| Error::io("cannot write the image", error))?;
        let mut summary = self.summary;
        summary.image_bytes = self.offset;
        summary.blocks = self.blocks.lens.len() as u64;
        summary.losses = losses(&metadata);
        Ok(summary)
    }
}

fn losses(metadata: &Metadata) -> Vec<Loss> {
    let losses = [
        (
            "hard links of symlinks, devices, fifos and sockets (each became a file of its own)",
            metadata.split_links,
        ),
        (
            "files with extended attributes (ACLs and capabilities are among them)",
            metadata.without_xattrs,
        ),
        (
            "times finer than the time resolution (rounded down)",
            metadata.rounded_times,
        ),
    ];
    let some = losses.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(what, count)| Loss { what, count }).collect()
}

/// Makes whole sections of segments: their number is known from the start.
#[derive(Debug)]
struct BlockEncoder {
    encoding: Encoding,
    block_size: u32,
}

impl SegmentEncoder for BlockEncoder {
    fn encode(&self, segment: &Segment) -> Result<Block> {
        let len = segment.data.len();
        if len > self.block_size as usize {
            let size = self.block_size;
            return Err(Error::invalid(format!(
                "a segment of {len} bytes for blocks of {size}"
            )));
        }
        let encoding = match segment.category {
            Category::Incompressible => &Encoding::None,
            _ => &self.encoding,
        };
        let bytes = section(
            segment.sequence,
            SectionType::BLOCK,
            encoding,
            &segment.data,
        )?;
        Block::new(segment, bytes)
    }

    fn memory(&self, len: u32) -> u64 {
        self.encoding.memory(len)
    }

    fn window(&self) -> u64 {
        self.encoding.window()
    }
}
