//! `ErofsWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes to a sink whose beginning is written last: content, here or on
//! a device of its own, then what `metadata` writes.

use std::fmt;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_model::{
    Block, ContentMap, Error, Geometry, ImageWriter, Result, SegmentEncoder, Standing, Summary,
    Tree,
};

use super::BLOCK;
use super::digest_index::Repeats;
use super::encoded::Cluster;
use super::encoder::UnitEncoder;
use super::image_out::Out;
use super::options::{Form, WriteOptions};
use super::packed_tails::Group;
use super::superblock::first_block;
use super::unit_table::{Moved, Taken, Units};

/// A unit of a file that has more refers to clusters of others if at least one in so many was stored before.
const FEW: usize = 4;

/// Writes an image to a sink from front to back, and the superblock last.
///
/// Memory: 16 bytes for each unit while they come; 50 to 90 for each chunk, or cluster, that may come again, up to
/// 170 MB; without compression also the ends of files, which
/// will be behind their inodes, up to 256 MiB (later ones get blocks of their own). `finish` takes 12
/// bytes for each inode, 16 for each fragment, and each distinct attribute that is shared.
pub struct ErofsWriter {
    pub(super) out: Out,
    /// A device of its own for content. Until it is known where its addresses begin, they follow the
    /// superblock's block: how long maps are must not depend on it, and may where a block has none
    /// before it.
    pub(super) blob: Option<Out>,
    pub(super) options: WriteOptions,
    pub(super) units: Units,
    raw_bytes: u64,
    block_bytes: u64,
    repeats: Repeats,
    /// Where the next block of a content has to be to be in a row with those before it.
    row: Option<u64>,
}

impl fmt::Debug for ErofsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErofsWriter")
            .field("options", &self.options)
            .field("offset", &self.out.offset)
            .field("units", &self.units.placed.len())
            .finish_non_exhaustive()
    }
}

impl ErofsWriter {
    /// Starts an image; `Invalid` for options that the format does not have, `Unsupported` for what is
    /// not written. `blob` takes all content if the options name a device for it.
    pub fn new(
        sink: Box<dyn Sink>,
        blob: Option<Box<dyn Sink>>,
        options: WriteOptions,
    ) -> Result<Self> {
        options.check()?;
        if blob.is_some() != options.device.is_some() {
            return Err(Error::invalid("a device for content without a name"));
        }
        Ok(Self {
            out: Out::new(sink)?,
            blob: blob.map(|blob| Out::behind(blob, BLOCK)),
            units: Units::new(&options),
            options,
            raw_bytes: 0,
            block_bytes: 0,
            repeats: Repeats::default(),
            row: None,
        })
    }

    /// Writes what is left of several files.
    fn put_group(&mut self, group: &Group) -> Result<()> {
        let out = self.content();
        let start = out.offset;
        out.write(&group.cut.bytes)?;
        let end = out.offset;
        self.units.place_group(start, group);
        self.block_bytes += end - start;
        Ok(())
    }

    /// Returns where an equal chunk is; if there is none, this one is remembered to be here.
    fn known_chunk(&mut self, block: &Block, here: u64) -> Option<u64> {
        match (self.options.form(), &block.digests[..]) {
            (Form::Chunks, &[digest]) => self.repeats.find(digest, here),
            _ => None,
        }
    }

    /// Lists the clusters of a unit if some were stored before and are worth referring to. If not, they are
    /// remembered to be where the unit begins.
    fn shared_clusters(&mut self, block: &Block, start: u64) -> Option<Vec<Cluster>> {
        if self.options.form() != Form::Clusters || block.digests.is_empty() {
            return None;
        }
        let clusters = self.units.clusters_of(block);
        let known = block.digests.iter().filter(|one| self.repeats.has(one));
        let known = known.count();
        // indexes of files of several units are long, and packed only where blocks follow each other
        let is_alone = block.standing == Standing::First && block.raw_len < self.units.unit;
        let pays = known > 0 && (is_alone || known >= clusters.len() / FEW);
        if pays {
            return Some(clusters);
        }
        for (cluster, &digest) in clusters.iter().zip(&block.digests) {
            self.repeats.find(digest, start + u64::from(cluster.at));
        }
        None
    }

    /// Returns the end where content goes.
    pub(super) fn content(&mut self) -> &mut Out {
        match &mut self.blob {
            Some(blob) => blob,
            None => &mut self.out,
        }
    }
}

/// Writes those of a unit's clusters that were not stored before, and tells where all of them are. What follows them in
/// `bytes` is written, too.
fn write_new(
    out: &mut Out,
    repeats: &mut Repeats,
    (block, clusters): (&Block, &[Cluster]),
    bytes: &[u8],
) -> Result<Vec<Moved>> {
    let (mut moved, mut end) = (Vec::with_capacity(clusters.len()), 0);
    for (cluster, &digest) in clusters.iter().zip(&block.digests) {
        let from = cluster.at as usize;
        end = from + cluster.stored as usize;
        let here = out.offset;
        let known = repeats.find(digest, here);
        if known.is_none() {
            out.write(bytes.get(from..end).unwrap_or_default())?;
        }
        moved.push(Moved {
            at: cluster.at,
            start: known.unwrap_or(here),
        });
    }
    out.write(bytes.get(end..).unwrap_or_default())?;
    Ok(moved)
}

impl ImageWriter for ErofsWriter {
    fn geometry(&self) -> Geometry {
        Geometry::PerFile {
            unit: self.options.unit(),
            tails: self.options.tails(),
            holes: self.options.keeps_holes(),
            repeats: self.options.repeats(),
            ends: self.options.ends(),
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(UnitEncoder {
            compression: self.options.compression.clone(),
            unit: self.options.unit(),
            digests: self.options.chunk_size.is_some(),
            shares_clusters: self.options.shares_clusters(),
            size: self.options.block_size,
            in_blocks: self.options.form() == Form::Clusters,
            inline_ends: self.options.inline_ends(),
            parts: self.units.parts.clone(),
            rests: self.units.rests.clone(),
            all_packed: self.options.packs_all(),
        })
    }

    fn put(&mut self, block: Block) -> Result<()> {
        if let Some(rests) = &self.units.rests
            && let Some(group) = rests.closed_by(block.sequence)
        {
            self.put_group(&group)?;
        }
        let here = self.content().offset;
        let known = self.known_chunk(&block, here);
        let start = known.unwrap_or(here);
        let in_row = match block.standing {
            Standing::First => true,
            Standing::Next => self.row == Some(start),
            Standing::BehindHole => self.options.form() != Form::Chunks,
        };
        // the image has no content where there is a device for it
        let keeps_end = in_row && self.blob.is_none();
        let Taken { now, gap } = self.units.take(&block, keeps_end)?;
        self.row = in_row.then_some(start + now as u64);
        if known.is_some() {
            self.units.place(start, start + now as u64, block.raw_len);
            return Ok(());
        }
        let fills = self.options.form() != Form::Extents;
        let clusters = self.shared_clusters(&block, start);
        // borrows not all of the writer
        let out = match &mut self.blob {
            Some(blob) => blob,
            None => &mut self.out,
        };
        let (before, end) = block.bytes.split_at_checked(now).unwrap_or_default();
        match clusters {
            Some(clusters) => {
                let moved = write_new(out, &mut self.repeats, (&block, &clusters), before)?;
                self.units.moved.insert(block.sequence, moved);
            }
            None => out.write(before)?,
        }
        if gap > 0 {
            // readers skip the zeros in front
            out.fill_to(out.offset + gap)?;
            out.write(end)?;
        }
        if fills {
            out.fill_block()?;
        }
        let end = out.offset;
        self.units.place(start, end, block.raw_len);
        self.raw_bytes += u64::from(block.raw_len);
        self.block_bytes += end - start;
        Ok(())
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let last = self.units.rests.as_ref().map(|rests| rests.last());
        if let Some(group) = last.transpose()?.flatten() {
            self.put_group(&group)?;
        }
        let start = self.out.offset;
        let (facts, dropped) = self.metadata(tree, map)?;
        let first = first_block(&self.options, &facts)?;
        self.out.end(&first)?;
        if let Some(blob) = &mut self.blob {
            blob.close()?;
        }
        let blob_bytes = self.blob.as_ref().map_or(0, |blob| blob.offset - BLOCK);
        Ok(Summary {
            image_bytes: self.out.offset + blob_bytes,
            blocks: self.units.placed.len() as u64,
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
    use sinterfs_model::{BlockId, Category, MapExtent, Segment};

    use super::*;
    use crate::write::Compression;
    use crate::write::body::Body;
    use crate::write::unit_table::ENDS_MAX;

    #[test]
    fn ends_that_find_no_room_in_memory_get_blocks() {
        let options = WriteOptions {
            compression: Compression::None,
            ..WriteOptions::default()
        };
        let mut writer = ErofsWriter::new(Box::new(Vec::new()), None, options).unwrap();
        writer.units.ends = vec![0; ENDS_MAX - 10];
        let encoder = writer.encoder();
        for (sequence, len) in [5000, 4100, 4107, 4096].into_iter().enumerate() {
            let segment = Segment {
                sequence: sequence as u32,
                category: Category::Default,
                fragment: false,
                ends: false,
                standing: Standing::First,
                data: Arc::new(vec![7; len]),
                repeats: Vec::new(),
            };
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
            writer.units.content(&[extent]).unwrap().body
        };
        assert_eq!(content(0, 5000), Body::Flat(1, &[]));
        assert_eq!(content(1, 4100), Body::Flat(3, &[7; 4]));
        assert_eq!(content(2, 4107), Body::Flat(4, &[]));
        assert_eq!(content(3, 4096), Body::Flat(6, &[]));
        assert_eq!(writer.out.offset, 7 * BLOCK);
    }
}
