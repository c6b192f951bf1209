//! `ErofsWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes to a sink whose beginning is written last: content,
//! here or on a separate device, then the output of `metadata`.

use std::fmt;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_model::{
    Block, BlockId, ContentMap, Error, Geometry, ImageWriter, MapExtent, Preceded, Result,
    SegmentEncoder, StoredRange, Summary, Tree,
};

use super::content_tables::{ContentTables, StoredBytes};
use super::digest_index::DigestIndex;
use super::encoded::PclusterRef;
use super::encoder::UnitEncoder;
use super::image_out::ImageOut;
use super::options::{Form, WriteOptions};
use super::packed_tails::{PackedTails, TailGroup};
use super::unit_table::MovedPclusters;

/// A unit of a file with several units refers to pclusters of others if at least one in this number
/// was stored before.
const MAX_UNITS_PER_MATCH: usize = 4;

/// The most bytes of a unit of an index: whole blocks, within the type of its length.
const REFERRED_UNIT: u64 = 1 << 30;

/// Writes an image to a sink from front to back, and the superblock last.
///
/// Memory: 16 bytes for each unit while they come; 50 to 90 for each chunk, or pcluster, that may
/// come again, up to 170 MB; without compression also the inline tails of files, up to 256 MiB
/// (later tails get separate blocks). `finish` takes 12 bytes for each inode, 16 for each fragment,
/// and each distinct attribute that is shared.
pub struct ErofsWriter {
    pub(super) out: ImageOut,
    /// A separate device for content. Its first block is reserved, like the image's, so that the
    /// length of maps does not depend on where its addresses begin.
    pub(super) blob: Option<ImageOut>,
    pub(super) options: Arc<WriteOptions>,
    pub(super) tables: ContentTables,
    raw_bytes: u64,
    block_bytes: u64,
    digests: DigestIndex,
    /// The position at which the next block of a content would be contiguous with the previous
    /// ones.
    row: Option<u64>,
}

impl fmt::Debug for ErofsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErofsWriter")
            .field("options", &self.options)
            .field("offset", &self.out.offset)
            .field("units", &self.tables.units.len())
            .finish_non_exhaustive()
    }
}

impl ErofsWriter {
    /// Starts an image. Fails with `Invalid` for options that the format does not have, with
    /// `Unsupported` for what is not written. `blob` takes all content if the options name a device
    /// for it.
    pub fn new(
        sink: Box<dyn Sink>,
        blob: Option<Box<dyn Sink>>,
        options: WriteOptions,
    ) -> Result<Self> {
        options.check()?;
        if blob.is_some() != options.device.is_some() {
            return Err(Error::invalid("a device for content without a name"));
        }
        let options = Arc::new(options);
        let block = options.own.extended.block;
        let blob = blob.map(|blob| ImageOut::new(blob, block));
        Ok(Self {
            out: ImageOut::new(sink, options.own.extended.block)?,
            blob: blob.transpose()?,
            tables: ContentTables::new(&options),
            options,
            raw_bytes: 0,
            block_bytes: 0,
            digests: DigestIndex::default(),
            row: None,
        })
    }

    /// Records content of an index that the source has at these ranges, and appends its extents, up
    /// to `size`, to a list.
    ///
    /// # Errors
    /// `Unsupported` for ranges that are not whole blocks of the source.
    pub fn refer(&mut self, ranges: &[StoredRange], size: u64) -> Result<Vec<MapExtent>> {
        let block = self.options.own.extended.block.bytes();
        let (mut extents, mut end) = (Vec::new(), 0);
        for range in ranges {
            let next = range.offset.saturating_add(range.len);
            let in_blocks = |offset: u64| offset.is_multiple_of(block);
            let ends = in_blocks(next) || next == size;
            if range.offset < end || !in_blocks(range.offset) || !in_blocks(range.at) || !ends {
                return Err(Error::unsupported(format!(
                    "content that is not in whole blocks of {block} bytes of the source, to which \
                     an index can refer"
                )));
            }
            if range.offset > end {
                let len = range.offset - end;
                extents.push(MapExtent::Hole { len });
            }
            let mut done = 0;
            while done < range.len {
                let len = REFERRED_UNIT.min(range.len - done);
                let start = range.at.saturating_add(done);
                let sequence = self.tables.units.len() as u32;
                self.tables
                    .units
                    .push(start, start.saturating_add(len), len as u32);
                extents.push(MapExtent::Data {
                    block: BlockId(sequence),
                    offset: 0,
                    len: len as u32,
                });
                done += len;
            }
            end = next;
        }
        if size > end {
            extents.push(MapExtent::Hole { len: size - end });
        }
        Ok(extents)
    }

    /// Writes a group of shared tails.
    fn put_group(&mut self, group: TailGroup) -> Result<()> {
        let out = self.content_out();
        let start = out.offset;
        out.write(&group.bytes)?;
        self.block_bytes += out.offset - start;
        self.tables.packed.groups.push((start, group.pieces));
        Ok(())
    }

    /// Returns where an equal chunk is; if there is none, records this one to be here.
    fn stored_chunk(&mut self, block: &Block, here: u64) -> Option<u64> {
        match (self.options.form(), block.digests()) {
            (Form::Chunks, &[digest]) => self.digests.find_or_insert(digest, here),
            _ => None,
        }
    }

    /// Lists the pclusters of a unit if some were stored before and are worth referring to. If not,
    /// records them to be in a row from `start` on.
    fn shared_pclusters(&mut self, block: &Block, start: u64) -> Option<Vec<PclusterRef>> {
        if self.options.form() != Form::Clusters || block.digests().is_empty() {
            return None;
        }
        let pclusters = self.tables.own_pclusters(block);
        let digests = block.digests().iter();
        let stored = digests.filter(|one| self.digests.contains(one)).count();
        // indexes of files of several units are long, and compact only where blocks are in a row
        let is_only =
            block.preceded() == Preceded::ByNothing && block.decoded_len < self.options.unit();
        if stored > 0 && (is_only || stored >= pclusters.len() / MAX_UNITS_PER_MATCH) {
            return Some(pclusters);
        }
        for (pcluster, &digest) in pclusters.iter().zip(block.digests()) {
            let here = start + u64::from(pcluster.at);
            self.digests.find_or_insert(digest, here);
        }
        None
    }

    /// Writes the bytes of a unit that are not kept, from `start` on, and returns where they end.
    fn write_unit(
        &mut self,
        block: &Block,
        start: u64,
        StoredBytes { now, gap }: StoredBytes,
    ) -> Result<u64> {
        let shared = self.shared_pclusters(block, start);
        // borrows a field of the writer, not all of it
        let out = self.blob.as_mut().unwrap_or(&mut self.out);
        let (before, tail) = block.bytes.split_at_checked(now).unwrap_or_default();
        match shared {
            Some(pclusters) => {
                let moved = write_new(out, &mut self.digests, (block, &pclusters), before)?;
                self.tables.units.set_moved(block.sequence, moved);
            }
            None => out.write(before)?,
        }
        if gap > 0 {
            // readers skip the zeros in front
            out.fill_to(out.offset + gap)?;
            out.write(tail)?;
        }
        if self.options.form() != Form::Extents {
            out.fill_block()?;
        }
        Ok(out.offset)
    }

    /// Returns the output that content goes to.
    pub(super) fn content_out(&mut self) -> &mut ImageOut {
        self.blob.as_mut().unwrap_or(&mut self.out)
    }
}

/// Writes the pclusters of a unit that were not stored before, then the rest of `bytes`, and
/// returns the locations of all of them.
fn write_new(
    out: &mut ImageOut,
    digests: &mut DigestIndex,
    (block, pclusters): (&Block, &[PclusterRef]),
    bytes: &[u8],
) -> Result<MovedPclusters> {
    let (mut moved, mut end) = (MovedPclusters::new(), 0);
    for (pcluster, &digest) in pclusters.iter().zip(block.digests()) {
        let from = pcluster.at as usize;
        end = from + pcluster.stored as usize;
        let here = out.offset;
        let stored = digests.find_or_insert(digest, here);
        if stored.is_none() {
            out.write(bytes.get(from..end).unwrap_or_default())?;
        }
        moved.insert(pcluster.at, stored.unwrap_or(here));
    }
    out.write(bytes.get(end..).unwrap_or_default())?;
    Ok(moved)
}

impl ImageWriter for ErofsWriter {
    fn memory_of_inode(&self) -> u64 {
        300
    }

    fn geometry(&self) -> Geometry {
        Geometry::PerFile {
            unit: self.options.unit(),
            tails: self.options.tails(),
            holes: self.options.keeps_holes(),
            repeats: self.options.repeats(),
            sharing: self.options.sharing(),
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(UnitEncoder::new(&self.options, &self.tables.sideband))
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let tails = self.tables.sideband.tails.as_ref();
        if let Some(group) = tails.and_then(|tails| tails.take_closed_by(block.sequence)) {
            self.put_group(group)?;
        }
        let here = self.content_out().offset;
        let stored = self.stored_chunk(&block, here);
        let start = stored.unwrap_or(here);
        let in_row = match block.preceded() {
            Preceded::ByNothing => true,
            Preceded::BySegments => self.row == Some(start),
            Preceded::ByHole => self.options.form() != Form::Chunks,
        };
        // inline tails are in the image, which has no content where there is a device for it
        let taken = self.tables.take(&block, in_row && self.blob.is_none())?;
        let row_end = start + taken.now as u64;
        self.row = in_row.then_some(row_end);
        if stored.is_some() {
            self.tables.units.push(start, row_end, block.decoded_len);
            return Ok(());
        }
        let end = self.write_unit(&block, start, taken)?;
        self.tables.units.push(start, end, block.decoded_len);
        self.raw_bytes += u64::from(block.decoded_len);
        self.block_bytes += end - start;
        Ok(())
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let tails = self.tables.sideband.tails.as_ref();
        if let Some(group) = tails.map_or(Ok(None), PackedTails::take_last)? {
            self.put_group(group)?;
        }
        let start = self.out.offset;
        let (first_block, dropped) = self.metadata(tree, map)?;
        self.out.end(&first_block)?;
        let blob_bytes = self.blob.as_ref().map_or(0, |blob| blob.offset);
        Ok(Summary {
            image_bytes: self.out.offset + blob_bytes,
            blocks: self.tables.units.len() as u64,
            raw_bytes: self.raw_bytes,
            block_bytes: self.block_bytes,
            metadata_bytes: self.out.offset - start,
            root_digest: None,
            losses: dropped.losses(),
        })
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Category, Segment};

    use super::*;
    use crate::write::BLOCK;
    use crate::write::Compression;
    use crate::write::body::{self, Body};
    use crate::write::inline_tails::INLINE_TAILS_MAX;

    #[test]
    fn tails_that_find_no_room_in_memory_get_blocks() {
        let options = WriteOptions {
            compression: Compression::none(),
            ..WriteOptions::default()
        };
        let mut writer = ErofsWriter::new(Box::new(Vec::new()), None, options).unwrap();
        writer.tables.inline_tails.tails.items = vec![0; INLINE_TAILS_MAX - 10];
        let encoder = writer.encoder();
        for (sequence, len) in [5000, 4100, 4107, 4096].into_iter().enumerate() {
            let segment =
                Segment::solid(sequence as u32, Category::Default, Arc::new(vec![7; len]));
            writer
                .put(
                    encoder
                        .encode(&segment, &sinterfs_workers::WorkerPermits::default())
                        .unwrap(),
                )
                .unwrap();
        }
        let content = |block: u32, len: u32| {
            let extent = MapExtent::Data {
                block: BlockId(block),
                offset: 0,
                len,
            };
            let content = body::content(&writer.tables, &[extent]).unwrap();
            (content.body, content.tail)
        };
        let flat = |block, tail: &'static [u8]| (Body::Flat(block), tail.into());
        assert_eq!(content(0, 5000), flat(1, &[]));
        assert_eq!(content(1, 4100), flat(3, &[7; 4]));
        assert_eq!(content(2, 4107), flat(4, &[]));
        assert_eq!(content(3, 4096), flat(6, &[]));
        assert_eq!(writer.out.offset, 7 * BLOCK);
    }
}
