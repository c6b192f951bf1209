//! `ErofsWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes to a sink whose beginning is written last: content, ends
//! that have no other place, shared attributes, blocks of directories, inodes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use block::Sink;
use model::{
    Block, Content, ContentMap, Error, Geometry, ImageWriter, NodeId, Result, SegmentEncoder,
    Standing, Summary, Tree,
};

use super::encoder::UnitEncoder;
use super::inodes::{Inodes, tail_of};
use super::options::{Form, WriteOptions};
use super::out::Out;
use super::places::{Places, order};
use super::repeats::Repeats;
use super::superblock::{Facts, first_block};
use super::times::Times;
use super::units::Units;
use super::xattrs::{Dropped, Xattrs};
use super::{BLOCK, INLINE_MAX, directories};
use crate::layout::INODE_SLOT;

/// Writes an image to a sink from front to back, and the superblock last.
///
/// Memory: 16 bytes for each unit while they come; without compression also the ends of files, which
/// will be behind their inodes, up to 256 MiB (later ones get blocks of their own). `finish` takes 12
/// bytes for each inode, 16 for each fragment, and each distinct attribute that is shared.
pub struct ErofsWriter {
    out: Out,
    options: WriteOptions,
    units: Units,
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
    /// not written.
    pub fn new(sink: Box<dyn Sink>, options: WriteOptions) -> Result<Self> {
        options.check()?;
        Ok(Self {
            out: Out::new(sink)?,
            units: Units::new(&options),
            options,
            raw_bytes: 0,
            block_bytes: 0,
            repeats: Repeats::default(),
            row: None,
        })
    }

    /// Writes what has no place behind inodes: ends of files that are not in rows of blocks, and long
    /// targets of symlinks, whose blocks it tells.
    fn write_late(&mut self, tree: &Tree, map: &ContentMap) -> Result<BTreeMap<NodeId, u64>> {
        let mut late = BTreeMap::new();
        for (block, end) in self.units.homeless_ends(map)? {
            if self.options.form() == Form::Clusters {
                self.out.fill_block()?;
            }
            late.insert(block, self.out.offset);
            self.out.write(end)?;
        }
        self.units.late = late;
        let mut targets = BTreeMap::new();
        for (index, node) in tree.nodes().iter().enumerate() {
            if let Content::Symlink(target) = node.content {
                let target = tree.bytes(target);
                if target.len() as u64 > INLINE_MAX {
                    let node = NodeId(index as u32);
                    check_target(target).map_err(|error| {
                        error.path(String::from_utf8_lossy(&tree.path(node)).into_owned())
                    })?;
                    targets.insert(node, self.out.fill_block()?);
                    self.out.write(target)?;
                }
            }
        }
        self.out.fill_block()?;
        Ok(targets)
    }

    /// Writes all that is metadata, and tells what the superblock needs to know.
    fn metadata(&mut self, tree: &Tree, map: &ContentMap) -> Result<(Facts, Dropped)> {
        let packed = self.units.pack(map)?;
        let targets = self.write_late(tree, map)?;
        let xattrs = match self.options.xattrs {
            true => Xattrs::new(tree)?,
            false => Xattrs::none(),
        };
        let xattr_block = self.out.offset / BLOCK;
        self.out.write(&xattrs.shared)?;
        let dir_block = self.out.fill_block()?;
        let wide = self.options.kernel.knows_extents();
        let inodes = Inodes {
            tree,
            map,
            units: &self.units,
            xattrs: &xattrs,
            times: Times::new(tree, self.options.made, wide),
            targets: &targets,
        };
        let order = order(tree);
        let mut layout = Places::default();
        let mut nids = vec![0; tree.nodes().len()];
        let (mut meta_block, mut chunked) = (dir_block, false);
        for &node in &order {
            let inode = inodes.inode(node, 0)?;
            if let Some(nid) = nids.get_mut(node.index()) {
                *nid = layout.next(inode.extent()) / INODE_SLOT;
            }
            chunked |= inode.is_chunked();
            if is_directory(tree, node) {
                meta_block += inode.blocks();
            }
        }
        let packed = packed.map(|content| inodes.packed(content));
        let packed_place = packed.as_ref().map(|inode| layout.next(inode.extent()));
        let nid = |node: NodeId| nids.get(node.index()).copied().unwrap_or(0);

        write_directories(&mut self.out, tree, &order, nid)?;
        let base = self.out.fill_block()? * BLOCK;
        if base != meta_block * BLOCK {
            return Err(Error::invalid(
                "directories changed while they were written",
            ));
        }
        let (mut bytes, mut next) = (Vec::new(), dir_block);
        for &node in &order {
            let inode = inodes.inode(node, next)?;
            let tail = tail(tree, node, nid)?;
            if is_directory(tree, node) {
                next += inode.blocks();
            }
            self.out.fill_to(base + nid(node) * INODE_SLOT)?;
            bytes.clear();
            inode.write(&tail, &mut bytes)?;
            self.out.write(&bytes)?;
        }
        if let (Some(inode), Some(place)) = (&packed, packed_place) {
            self.out.fill_to(base + place)?;
            bytes.clear();
            inode.write(&[], &mut bytes)?;
            self.out.write(&bytes)?;
        }
        let facts = Facts {
            inodes: tree.nodes().len() as u64,
            times: inodes.times,
            blocks: self.out.fill_block()?,
            meta_block,
            xattr_block,
            root: nid(NodeId::ROOT),
            packed: packed_place.map(|place| place / INODE_SLOT),
            chunked,
            hash: self.out.hash()?,
        };
        Ok((facts, xattrs.dropped))
    }
}

fn is_directory(tree: &Tree, node: NodeId) -> bool {
    matches!(tree.node(node).content, Content::Directory { .. })
}

/// Writes the blocks of directories that are not behind their inodes.
fn write_directories(
    out: &mut Out,
    tree: &Tree,
    order: &[NodeId],
    nid: impl Fn(NodeId) -> u64,
) -> Result<()> {
    for &dir in order.iter().filter(|&&node| is_directory(tree, node)) {
        if tail_of(directories::len(tree, dir)?) < directories::len(tree, dir)? {
            let content = directories::content(tree, dir, &nid)?;
            let body = content.len() - tail_of(content.len() as u64) as usize;
            out.write(content.get(..body).unwrap_or_default())?;
            out.fill_block()?;
        }
    }
    Ok(())
}

/// Makes the end of what a directory or a symlink holds, for behind its inode.
fn tail(tree: &Tree, node: NodeId, nid: impl Fn(NodeId) -> u64) -> Result<Vec<u8>> {
    let mut content = match tree.node(node).content {
        Content::Directory { .. } => directories::content(tree, node, nid)?,
        Content::Symlink(target) => tree.bytes(target).to_vec(),
        _ => return Ok(Vec::new()),
    };
    let tail = tail_of(content.len() as u64) as usize;
    Ok(content.split_off(content.len() - tail))
}

fn check_target(target: &[u8]) -> Result<()> {
    match target.len() as u64 <= BLOCK {
        true => Ok(()),
        false => Err(Error::limit(format!(
            "a symlink's target of {} bytes",
            target.len()
        ))),
    }
}

impl ImageWriter for ErofsWriter {
    fn geometry(&self) -> Geometry {
        Geometry::PerFile {
            unit: self.options.unit(),
            tails: self.options.tails(),
            holes: self.options.keeps_holes(),
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        let is_cut = self.options.form() == Form::Clusters;
        Arc::new(UnitEncoder {
            compression: self.options.compression.clone(),
            unit: self.options.unit(),
            cluster: is_cut.then_some(self.options.block_size),
            digests: self.options.chunk_size.is_some(),
        })
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let here = self.out.offset;
        let known = block.digest.and_then(|one| self.repeats.find(one, here));
        let start = known.unwrap_or(here);
        let in_row = match block.standing {
            Standing::First => true,
            Standing::Next => self.row == Some(start),
            Standing::BehindHole => self.options.form() != Form::Chunks,
        };
        let now = self.units.take(&block, in_row)?;
        self.row = in_row.then_some(start + now as u64);
        self.raw_bytes += u64::from(block.raw_len);
        if known.is_some() {
            self.units.place(start, start + now as u64, block.raw_len);
            return Ok(());
        }
        self.out.write(block.bytes.get(..now).unwrap_or_default())?;
        if self.options.form() != Form::Extents {
            self.out.fill_block()?;
        }
        self.units.place(start, self.out.offset, block.raw_len);
        self.block_bytes += self.out.offset - start;
        Ok(())
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let start = self.out.offset;
        let (facts, dropped) = self.metadata(tree, map)?;
        let first = first_block(&self.options, &facts)?;
        self.out.end(&first)?;
        Ok(Summary {
            image_bytes: self.out.offset,
            blocks: self.units.placed.len() as u64,
            raw_bytes: self.raw_bytes,
            block_bytes: self.block_bytes,
            metadata_bytes: self.out.offset - start,
            losses: dropped.losses(),
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{BlockId, Category, MapExtent, Segment};

    use super::*;
    use crate::write::Compression;
    use crate::write::content::Body;
    use crate::write::units::ENDS_MAX;

    #[test]
    fn ends_that_find_no_room_in_memory_get_blocks() {
        let options = WriteOptions {
            compression: Compression::None,
            ..WriteOptions::default()
        };
        let mut writer = ErofsWriter::new(Box::new(Vec::new()), options).unwrap();
        writer.units.ends = vec![0; ENDS_MAX - 10];
        let encoder = writer.encoder();
        for (sequence, len) in [5000, 4100, 4107, 4096].into_iter().enumerate() {
            let segment = Segment {
                sequence: sequence as u32,
                category: Category::Default,
                fragment: false,
                standing: Standing::First,
                data: Arc::new(vec![7; len]),
            };
            writer
                .put(encoder.encode(&segment, &model::Spare::default()).unwrap())
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
