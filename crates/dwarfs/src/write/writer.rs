//! `DwarfsWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes, to a sink without seeking.
//!
//! **Invariant:** every written section is in the index and in the digest.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use sinterfs_block::digest::DigestBuilder;
use sinterfs_codec::Encoding;
use sinterfs_model::{
    Block, Category, ContentMap, Error, Geometry, ImageWriter, Loss, NodeId, Result, Segment,
    SegmentEncoder, Setting, Summary, Tree,
};
use sinterfs_workers::{MemoryNeeds, WorkerPermits};

use super::freeze::Frozen;
use super::history;
use super::metadata::{Blocks, Metadata, metadata};
use super::metadata_copy::CopiedSections;
use super::options::{TimeResolution, WriteOptions};
use super::section::{Index, assemble, section};
use super::xattrs;
use crate::framing;
use crate::layout::xattrs::{XattrTableHeader, is_name};
use crate::layout::{FileHeader, MINOR_WRITTEN, SectionCompression, SectionHeaderV2, SectionType};

/// Writes an image from front to back, so that the sink may be a pipe.
///
/// Memory: 13 bytes per block. `finish` takes up to 150 bytes per name in addition to tree and map
/// (measured: 94 with packed tables, 116 without, for 10^6 files), and the memory of the metadata's
/// codec: for zstd:optimal some 6 times the metadata, up to about 400 MB.
pub struct DwarfsWriter {
    out: Box<dyn Write + Send>,
    options: WriteOptions,
    index: Index,
    /// The digests of all written bytes, if requested.
    digest: Option<DigestBuilder>,
    /// Copies of the metadata, if requested.
    copied: Option<CopiedSections>,
    /// The number of bytes written so far.
    pub(super) offset: u64,
    pub(super) blocks: Blocks,
    pub(super) summary: Summary,
    /// The minor version in section headers.
    pub(super) minor: u8,
    /// Stored sections of unknown types, to be written after the metadata.
    pub(super) unknown: Vec<(SectionType, SectionCompression, Vec<u8>)>,
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
    /// Starts an image. `Invalid` for options that the format does not have.
    pub fn new(out: Box<dyn Write + Send>, options: WriteOptions) -> Result<Self> {
        options.check()?;
        Ok(Self::for_rewrite(out, options))
    }

    /// Starts a rewritten image, whose block size need not be one that `new` accepts.
    pub(crate) fn for_rewrite(out: Box<dyn Write + Send>, options: WriteOptions) -> Self {
        Self {
            out,
            digest: options.own.with_digest.then(DigestBuilder::default),
            copied: options.own.metadata_copy.then(CopiedSections::default),
            options,
            index: Index::default(),
            offset: 0,
            blocks: Blocks::default(),
            summary: Summary::default(),
            minor: MINOR_WRITTEN,
            unknown: Vec::new(),
        }
    }

    pub(super) fn append(&mut self, kind: SectionType, mut bytes: Vec<u8>) -> Result<()> {
        self.index.push(kind, self.offset)?;
        set_minor(&mut bytes, self.minor);
        if let Some(copied) = &mut self.copied {
            copied.add(kind, self.offset, &bytes);
        }
        self.write(&bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out
            .write_all(bytes)
            .map_err(|error| Error::io("cannot write the image", error))?;
        self.offset += bytes.len() as u64;
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        Ok(())
    }

    /// Returns the number of the next section.
    pub(crate) fn number(&self) -> Result<u32> {
        u32::try_from(self.index.len())
            .map_err(|_| Error::limit("more than 4294967295 sections in a DwarFS image"))
    }

    /// Appends content in the encoding of metadata.
    pub(super) fn append_encoded(&mut self, kind: SectionType, raw: &[u8]) -> Result<()> {
        let encoding = &self.options.metadata_encoding;
        let bytes = section(
            self.number()?,
            kind,
            encoding,
            Category::Default,
            raw,
            &WorkerPermits::default(),
        )?;
        self.append(kind, bytes)
    }

    pub(super) fn append_metadata(&mut self, metadata: &Metadata) -> Result<()> {
        let start = self.offset;
        let Frozen { schema, data } = &metadata.frozen;
        self.append_encoded(SectionType::METADATA_V2_SCHEMA, schema)?;
        self.append_encoded(SectionType::METADATA_V2, data)?;
        self.summary.metadata_bytes = self.offset - start;
        Ok(())
    }

    fn append_xattrs(&mut self, tree: &Tree, metadata: &Metadata) -> Result<()> {
        if metadata.xattrs.is_empty() || !self.options.xattrs {
            return Ok(());
        }
        let hash = XattrTableHeader::hash(&metadata.frozen.schema, &metadata.frozen.data);
        let bytes = xattrs::encode(&metadata.xattrs, tree.xattrs(), hash)?;
        let start = self.offset;
        self.append_encoded(SectionType::XATTRS, &bytes)?;
        self.summary.losses.extend(misnamed(tree));
        self.summary.metadata_bytes += self.offset - start;
        Ok(())
    }

    /// Appends the sections after the metadata; returns the summary of the image.
    pub(crate) fn finish_sections(mut self: Box<Self>) -> Result<Summary> {
        for (kind, compression, stored) in std::mem::take(&mut self.unknown) {
            let bytes = assemble(self.number()?, kind, compression, &stored);
            self.append(kind, bytes)?;
        }
        if let Some(info) = &self.options.history {
            let raw = history::encode(info, &self.options.version_string);
            self.append_encoded(SectionType::HISTORY, &raw)?;
        }
        if let Some(copied) = self.copied.take() {
            let start = self.offset;
            let kind = SectionType::METADATA_COPY;
            let content = copied.encode()?;
            let bytes = assemble(self.number()?, kind, SectionCompression::NONE, &content);
            self.append(kind, bytes)?;
            self.summary.metadata_bytes += self.offset - start;
        }
        if let Some(digest) = self.digest.take() {
            let digests = digest.finish_with_table(&self.index.entries())?;
            self.summary.root_digest = Some(digests.root().into());
            let kind = SectionType::DIGEST;
            let bytes = assemble(
                self.number()?,
                kind,
                SectionCompression::NONE,
                digests.stored(),
            );
            self.append(kind, bytes)?;
        }
        if self.options.own.section_index {
            let number = self.number()?;
            let mut index = std::mem::take(&mut self.index).section(number, self.offset)?;
            set_minor(&mut index, self.minor);
            self.write(&index)?;
        }
        self.out
            .flush()
            .map_err(|error| Error::io("cannot write the image", error))?;
        let mut summary = self.summary;
        summary.image_bytes = self.offset;
        summary.blocks = self.blocks.lens.len() as u64;
        Ok(summary)
    }
}

/// Changes the minor version in a section header, which is not covered by its hashes.
pub(crate) fn set_minor(section: &mut [u8], minor: u8) {
    if let Some(byte) = section.get_mut(std::mem::offset_of!(FileHeader, minor)) {
        *byte = minor;
    }
}

impl ImageWriter for DwarfsWriter {
    fn memory_of_inode(&self) -> u64 {
        450
    }

    fn geometry(&self) -> Geometry {
        Geometry::Solid {
            block_size: self.options.block_size(),
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(BlockEncoder {
            encoding: self.options.encoding.clone(),
            by_category: self.options.by_category.clone(),
            block_size: self.options.block_size(),
        })
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let expected = self.number()?;
        if block.sequence != expected {
            return Err(Error::invalid(format!(
                "block {} instead of block {expected}",
                block.sequence
            )));
        }
        if block.decoded_len > self.options.block_size() {
            let size = self.options.block_size();
            let len = block.decoded_len;
            return Err(Error::invalid(format!(
                "block {expected} has {len} bytes, more than {size}"
            )));
        }
        if block.bytes.len() < SectionHeaderV2::SIZE {
            return Err(Error::invalid(format!(
                "block {expected} has {} bytes, fewer than a header",
                block.bytes.len()
            )));
        }
        self.put_section(block.category, block.decoded_len, block.bytes)
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let metadata = metadata(tree, map, &self.blocks, &self.options)?;
        self.append_metadata(&metadata)?;
        self.summary.losses = losses(&metadata, self.options.time_resolution);
        self.append_xattrs(tree, &metadata)?;
        self.finish_sections()
    }
}

/// Names the attributes whose names the format does not have.
fn misnamed(tree: &Tree) -> Vec<Loss> {
    let mut loss = Loss::entries(
        "extended attributes whose names are empty, hold a zero or have more than 255 bytes",
    );
    for (node, id) in tree.nodes().iter().zip(0..) {
        let pairs = tree.xattrs().pairs(node.xattrs);
        for (name, _) in pairs.filter(|(name, _)| !is_name(name)) {
            loss.add(|| tree.attribute_path(NodeId(id), name));
        }
    }
    Loss::happened([loss])
}

fn losses(metadata: &Metadata, unit: TimeResolution) -> Vec<Loss> {
    let mut losses = Loss::counted([(
        "hard links of symlinks, devices, fifos and sockets (each became a separate file)",
        metadata.split_links,
    )]);
    let lost = if unit == TimeResolution::SECOND {
        "fractions of a second"
    } else {
        "last digits"
    };
    let kept_by = Some((Setting("time_resolution"), "1ns"));
    losses.extend(Loss::precision(lost, metadata.rounded_times, kept_by));
    losses
}

/// Encodes segments to whole sections, with the numbers of the segments.
#[derive(Debug)]
pub(crate) struct BlockEncoder {
    /// The encoding of categories without another one.
    pub(crate) encoding: Encoding,
    /// Encodings by the names of categories; the first match applies.
    pub(crate) by_category: Vec<(String, Encoding)>,
    pub(crate) block_size: u32,
}

impl SegmentEncoder for BlockEncoder {
    fn encode(&self, segment: &Segment, permits: &WorkerPermits) -> Result<Block> {
        let len = segment.data.len();
        if len > self.block_size as usize {
            let size = self.block_size;
            return Err(Error::invalid(format!(
                "a segment of {len} bytes for blocks of {size}"
            )));
        }
        let is_own = |(name, _): &&(String, Encoding)| segment.category.matches(name);
        let own = self.by_category.iter().find(is_own);
        // the recorded sample format must be right for all samples of the block
        let category = framing::refine(segment.category, &segment.data);
        let bytes = section(
            segment.sequence,
            SectionType::BLOCK,
            own.map_or(&self.encoding, |(_, encoding)| encoding),
            category,
            &segment.data,
            permits,
        )?;
        let mut block = Block::new(segment, bytes)?;
        block.category = category;
        Ok(block)
    }

    fn memory(&self, len: u32) -> u64 {
        let own = self.by_category.iter().map(|(_, encoding)| encoding);
        let all = own.chain([&self.encoding]);
        all.map(|encoding| encoding.memory(len)).max().unwrap_or(0)
    }

    fn memory_needs(&self, len: u32) -> Option<MemoryNeeds> {
        let own = self.by_category.iter().map(|(_, encoding)| encoding);
        let all = own.chain([&self.encoding]);
        let needs = all.filter_map(|encoding| encoding.memory_needs(len));
        needs.reduce(|one, other| MemoryNeeds {
            bytes: one.bytes.max(other.bytes),
            threads: one.threads.min(other.threads),
        })
    }

    fn window(&self) -> u64 {
        self.encoding.window()
    }
}
