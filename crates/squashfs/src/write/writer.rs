//! `SquashfsWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes, to a sink whose beginning is written last.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "sizes are bounded by `WriteOptions::check`, counts by `Numbering` and `Ids`"
)]

use std::fmt;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_model::{
    Block, ContentMap, Error, Geometry, ImageWriter, Loss, NodeId, Result, SegmentEncoder, Summary,
    Tree,
};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::directories::ListingSources;
use super::encoder::BlockEncoder;
use super::files::{ContentBlocks, WrittenBlock};
use super::inodes::{InodeSources, InodeTable};
use super::listing::Listing;
use super::numbering::Numbering;
use super::options::{UncompressedPart, WriteOptions};
use super::stream::{Encoder, MetadataStream};
use super::tables::{Table, table};
use super::xattrs::Xattrs;
use crate::layout::{
    BlockWord, Flags, MAGIC, MAJOR, METADATA_SIZE, MINOR, MetaRef, MetadataHeader, NO_FRAGMENT,
    NO_TABLE, Superblock, XattrTable,
};

/// The alignment of padded images in bytes.
const PAD: u64 = 4096;

/// The length of encoded inodes from which they are written, in bytes.
const FLUSH_LEN: usize = 1 << 20;

/// Writes an image from front to back, and the superblock last.
///
/// Memory: 16 bytes per block. `finish` takes 20 bytes per inode (12 without an export table), the
/// encoded listings of directories (some 5 to 15 bytes per name), and some 100 bytes per distinct
/// set of extended attributes and per distinct value longer than 8 bytes.
pub struct SquashfsWriter {
    out: Box<dyn Sink>,
    options: WriteOptions,
    /// The number of bytes written so far.
    offset: u64,
    blocks: ContentBlocks,
    raw_bytes: u64,
    block_bytes: u64,
}

impl fmt::Debug for SquashfsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SquashfsWriter")
            .field("options", &self.options)
            .field("offset", &self.offset)
            .field("blocks", &self.blocks.placed.len())
            .finish_non_exhaustive()
    }
}

/// The positions of an image's tables.
struct TableOffsets {
    root: MetaRef,
    inodes: u64,
    directories: u64,
    fragments: u64,
    export: u64,
    ids: u64,
    xattrs: u64,
}

impl SquashfsWriter {
    /// Starts an image. `Invalid` for options that the format does not have.
    pub fn new(out: Box<dyn Sink>, options: WriteOptions) -> Result<Self> {
        options.check()?;
        let blocks = ContentBlocks {
            placed: Vec::new(),
            unit: options.block_size,
        };
        let mut writer = Self {
            out,
            options,
            offset: 0,
            blocks,
            raw_bytes: 0,
            block_bytes: 0,
        };
        writer.write(&[0; size_of::<Superblock>()])?;
        let options = &writer.options;
        if let Some(stored) = options.compression.stored_options(options.block_size) {
            let header = U16::new(stored.len() as u16 | MetadataHeader::RAW);
            writer.write(&[header.as_bytes(), &stored].concat())?;
        }
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(cannot_write)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes zeros up to a multiple of bytes.
    fn pad(&mut self, align: u32) -> Result<()> {
        let missing = self.offset.next_multiple_of(align.max(1).into()) - self.offset;
        let zeros = [0; METADATA_SIZE];
        let mut missing = usize::try_from(missing).unwrap_or_default();
        while missing > 0 {
            let part = missing.min(zeros.len());
            self.write(zeros.split_at(part).0)?;
            missing -= part;
        }
        Ok(())
    }

    fn write_table(&mut self, table: &Table) -> Result<u64> {
        let list = self.offset + table.list;
        self.write(&table.bytes)?;
        Ok(list)
    }

    /// Writes all metadata; returns the superblock and the losses.
    fn metadata(&mut self, tree: &Tree, map: &ContentMap) -> Result<(Superblock, Vec<Loss>)> {
        let options = self.options.clone();
        let encoder = |part| Encoder {
            compression: &options.compression,
            block_size: options.block_size,
            raw: options.raw().has(part),
            threads: options.threads,
        };
        let fragment_count = self.blocks.number_fragments();
        let numbering = Numbering::new(tree)?;
        let stored = if options.xattrs {
            Some(Xattrs::new(tree, encoder(UncompressedPart::Xattrs))?)
        } else {
            None
        };
        // the inodes borrow the blocks while the sink is written to
        let empty = ContentBlocks {
            placed: Vec::new(),
            ..self.blocks
        };
        let blocks = std::mem::replace(&mut self.blocks, empty);
        let sources = InodeSources {
            tree,
            map,
            blocks: &blocks,
            numbering: &numbering,
            xattrs: stored.as_ref(),
        };
        let mut inodes = InodeTable::new(sources, encoder(UncompressedPart::Inodes));
        let start = self.offset;
        let directories = self.inodes(&mut inodes, sources, encoder(UncompressedPart::Inodes))?;
        let mut offsets = TableOffsets {
            root: inodes.reference(NodeId::ROOT)?,
            inodes: start,
            directories: self.offset,
            fragments: NO_TABLE,
            export: NO_TABLE,
            ids: NO_TABLE,
            xattrs: NO_TABLE,
        };
        self.write(&directories)?;
        if fragment_count > 0 {
            let records = blocks.fragments();
            let fragments = table(
                encoder(UncompressedPart::Fragments),
                records,
                self.offset,
                &[],
            )?;
            offsets.fragments = self.write_table(&fragments)?;
        }
        if options.own.exports {
            let references = export(tree, &numbering, &inodes)?;
            let records = references.iter().map(IntoBytes::as_bytes);
            let export = table(encoder(UncompressedPart::Inodes), records, self.offset, &[])?;
            offsets.export = self.write_table(&export)?;
        }
        let records = inodes.ids.all().iter().map(|id| id.to_le_bytes());
        let ids = table(encoder(UncompressedPart::Ids), records, self.offset, &[])?;
        offsets.ids = self.write_table(&ids)?;
        let superblock = self.superblock(&inodes, fragment_count, numbering.count());
        let mut losses = time_losses(&inodes);
        drop(inodes);
        if let Some(mut xattrs) = stored {
            offsets.xattrs = self.xattrs(&mut xattrs, encoder(UncompressedPart::Xattrs))?;
            losses.extend(xattrs.dropped.into_losses());
        }
        self.blocks = blocks;
        losses.retain(|loss| loss.count > 0);
        Ok((self.with_offsets(superblock, &offsets), losses))
    }

    /// Writes all inodes; returns the encoded listings, which follow them.
    fn inodes<'a>(
        &mut self,
        inodes: &mut InodeTable<'a>,
        sources: InodeSources<'a>,
        encoder: Encoder<'a>,
    ) -> Result<Vec<u8>> {
        let InodeSources {
            tree, numbering, ..
        } = sources;
        for &non_directory in numbering.non_directories() {
            inodes.non_directory(non_directory)?;
            if inodes.stream.encoded() >= FLUSH_LEN {
                let bytes = inodes.stream.take();
                self.write(&bytes)?;
            }
        }
        inodes.stream.encode_full()?;
        let mut listings = MetadataStream::new(encoder);
        for &dir in numbering.directories() {
            let sources = ListingSources {
                tree,
                numbering,
                positions: &inodes.positions,
                inodes: &inodes.stream,
            };
            let listing = Listing::write(sources, dir, &mut listings)?;
            // its inode refers to its listing, and later listings refer to its inode
            listings.encode_full()?;
            inodes.directory(dir, &listing, &listings)?;
            inodes.stream.encode_full()?;
        }
        inodes.stream.end()?;
        listings.end()?;
        let rest = inodes.stream.take();
        self.write(&rest)?;
        Ok(listings.take())
    }

    /// Writes the extended attributes; returns the position of their table.
    fn xattrs(&mut self, xattrs: &mut Xattrs<'_>, encoder: Encoder<'_>) -> Result<u64> {
        if xattrs.table.is_empty() {
            return Ok(NO_TABLE);
        }
        let head = XattrTable {
            start: U64::new(self.offset),
            ids: U32::new(xattrs.table.len() as u32),
            unused: U32::new(0),
        };
        self.write(&xattrs.take())?;
        let records = xattrs.table.iter().map(IntoBytes::as_bytes);
        let table = table(encoder, records, self.offset, head.as_bytes())?;
        self.write_table(&table)
    }

    /// Makes the superblock, without the positions of the tables.
    fn superblock(&self, inodes: &InodeTable<'_>, fragments: u32, count: u32) -> Superblock {
        let options = &self.options;
        let compression = &options.compression;
        let has_options = compression.stored_options(options.block_size).is_some();
        let flags = options.flags()
            | if has_options {
                Flags::COMPRESSOR_OPTIONS
            } else {
                0
            };
        let made = options.made.map_or(inodes.latest, |made| {
            u32::try_from(made).unwrap_or(u32::MAX)
        });
        Superblock {
            magic: U32::new(MAGIC),
            inodes: U32::new(count),
            made: U32::new(made),
            block_size: U32::new(options.block_size),
            fragments: U32::new(fragments),
            compressor: compression.id(),
            block_log: U16::new(options.block_size.trailing_zeros() as u16),
            flags: Flags(U16::new(flags)),
            ids: U16::new(inodes.ids.all().len() as u16),
            major: U16::new(MAJOR),
            minor: U16::new(MINOR),
            root: MetaRef::new(0, 0),
            bytes_used: U64::new(0),
            id_table: U64::new(NO_TABLE),
            xattr_table: U64::new(NO_TABLE),
            inode_table: U64::new(NO_TABLE),
            directory_table: U64::new(NO_TABLE),
            fragment_table: U64::new(NO_TABLE),
            export_table: U64::new(NO_TABLE),
        }
    }

    fn with_offsets(&self, superblock: Superblock, offsets: &TableOffsets) -> Superblock {
        Superblock {
            root: offsets.root,
            bytes_used: U64::new(self.offset),
            id_table: U64::new(offsets.ids),
            xattr_table: U64::new(offsets.xattrs),
            inode_table: U64::new(offsets.inodes),
            directory_table: U64::new(offsets.directories),
            fragment_table: U64::new(offsets.fragments),
            export_table: U64::new(offsets.export),
            ..superblock
        }
    }
}

#[cold]
fn cannot_write(error: std::io::Error) -> Error {
    Error::io("cannot write the image", error)
}

/// Returns the references of all inodes in the order of their numbers.
fn export(tree: &Tree, numbering: &Numbering, inodes: &InodeTable<'_>) -> Result<Vec<MetaRef>> {
    let mut references = vec![MetaRef::new(0, 0); tree.nodes().len()];
    for index in 0..tree.nodes().len() {
        let node = NodeId(index as u32);
        let slot = numbering.number(node) as usize;
        if let Some(reference) = references.get_mut(slot.wrapping_sub(1)) {
            *reference = inodes.reference(node)?;
        }
    }
    Ok(references)
}

fn time_losses(inodes: &InodeTable<'_>) -> Vec<Loss> {
    let clamped = Loss::new(
        "times before 1970 or after 2106 (moved to the nearest representable one)",
        inodes.clamped,
    );
    let rounded = Loss::precision("fractions of a second", inodes.rounded, None);
    rounded.into_iter().chain([clamped]).collect()
}

impl ImageWriter for SquashfsWriter {
    fn memory_of_inode(&self) -> u64 {
        300
    }

    fn geometry(&self) -> Geometry {
        Geometry::PerFile {
            unit: self.options.block_size,
            tails: self.options.own.tails,
            holes: self.options.own.holes,
            repeats: None,
            sharing: sinterfs_model::TailSharing::Never,
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        let raw = self.options.raw();
        Arc::new(BlockEncoder {
            compression: self.options.compression.clone(),
            block_size: self.options.block_size,
            raw_data: raw.has(UncompressedPart::Data),
            raw_fragments: raw.has(UncompressedPart::Fragments),
        })
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let (number, expected) = (block.sequence, self.blocks.placed.len());
        if number as usize != expected {
            return Err(Error::invalid(format!(
                "block {number} instead of block {expected}"
            )));
        }
        let stored = block.bytes.len() as u32;
        if block.decoded_len > self.options.block_size || stored > block.decoded_len || stored == 0
        {
            return Err(Error::invalid(format!(
                "block {number}: {stored} bytes for {}, in an image with blocks of {}",
                block.decoded_len, self.options.block_size
            )));
        }
        let bit = if stored == block.decoded_len {
            BlockWord::RAW
        } else {
            0
        };
        let unit = block.unit.as_ref();
        if let Some(align) = unit.and_then(|unit| unit.align) {
            self.pad(align)?;
        }
        let is_fragment = unit.is_some_and(|unit| unit.is_fragment);
        self.blocks.placed.push(WrittenBlock {
            start: self.offset,
            word: BlockWord(U32::new(stored | bit)),
            // numbered when all are written
            fragment: if is_fragment { 0 } else { NO_FRAGMENT },
        });
        self.raw_bytes += u64::from(block.decoded_len);
        self.block_bytes += u64::from(stored);
        self.write(&block.bytes)
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let start = self.offset;
        let (superblock, losses) = self.metadata(tree, map)?;
        let metadata_bytes = self.offset - start;
        if self.options.own.padding {
            let fill = self.offset.next_multiple_of(PAD) - self.offset;
            self.write(&[0; PAD as usize][..fill as usize])?;
        }
        let patched = self.out.patch(0, superblock.as_bytes());
        patched
            .and_then(|()| self.out.flush())
            .map_err(cannot_write)?;
        Ok(Summary {
            image_bytes: self.offset,
            blocks: self.blocks.placed.len() as u64,
            raw_bytes: self.raw_bytes,
            block_bytes: self.block_bytes,
            metadata_bytes,
            root_digest: None,
            losses,
        })
    }
}

const _: () = assert!(METADATA_SIZE <= 0x7fff);
