//! All that is not content: long targets of symlinks, shared attributes, directories, inodes.
//!
//! In: the tree, the map of its content, and where that was put. Out: the rest of the image, and
//! the values of its superblock. **Invariant:** sizes are sources before offsets, and offsets
//! before bytes: inodes are made twice, and nothing is kept of them but their numbers.

use std::collections::BTreeMap;

use sinterfs_model::{Content, ContentMap, Error, NodeId, Result, Tree};

use super::body::{self, homeless_tails, packed_content, place_fragments};
use super::content_tables::ContentTables;
use super::directories;
use super::image_out::ImageOut;
use super::inode_offsets::{InodeOffsets, order};
use super::inodes::{Inodes, tail_of};
use super::limits::{BLOCK, INLINE_MAX};
use super::options::Form;
use super::prefixes::Prefixes;
use super::superblock::{Device, SuperblockValues};
use super::times::TimeBase;
use super::volume_id::DeviceName;
use super::writer::ErofsWriter;
use super::xattrs::{DroppedXattrs, Xattrs};
use crate::layout::{INODE_SLOT, XATTR_WORD};

/// What inodes are made of besides their content.
struct InodeSources<'a> {
    tree: &'a Tree,
    map: &'a ContentMap,
    xattrs: &'a Xattrs<'a>,
    times: TimeBase,
    targets: &'a BTreeMap<NodeId, u64>,
}

impl<'a> InodeSources<'a> {
    fn with(&self, tables: &'a ContentTables) -> Inodes<'a> {
        Inodes {
            tree: self.tree,
            map: self.map,
            tables,
            xattrs: self.xattrs,
            times: self.times,
            targets: self.targets,
        }
    }
}

/// Where all metadata will be.
struct MetadataLayout {
    /// The number of the inode of each node.
    nids: Vec<u64>,
    /// The number of the packed inode.
    packed: Option<u64>,
    /// The block that inode numbers count from.
    meta_block: u64,
    /// Bytes of all inodes.
    len: u64,
    /// Whether some file is in chunks.
    chunked: bool,
}

impl MetadataLayout {
    /// Assigns offsets to inodes; directories begin at `dir_block`.
    fn new(
        inodes: &Inodes<'_>,
        packed: Option<body::Content<'_>>,
        order: &[NodeId],
        dir_block: u64,
    ) -> Result<Self> {
        let (mut offsets, mut nids) = (InodeOffsets::default(), vec![0; inodes.tree.nodes().len()]);
        let (mut meta_block, mut chunked) = (dir_block, false);
        for &node in order {
            let inode = inodes.inode(node, 0)?;
            if let Some(nid) = nids.get_mut(node.index()) {
                *nid = offsets.next(inode.total_size()) / INODE_SLOT;
            }
            chunked |= inode.is_chunked();
            if is_directory(inodes.tree, node) {
                meta_block += inode.blocks();
            }
        }
        let packed = packed.map(|content| inodes.packed(content).total_size());
        Ok(Self {
            nids,
            packed: packed.map(|size| offsets.next(size) / INODE_SLOT),
            meta_block,
            len: offsets.end,
            chunked,
        })
    }

    fn nid(&self, node: NodeId) -> u64 {
        self.nids.get(node.index()).copied().unwrap_or(0)
    }

    /// Returns the number of blocks of the image.
    fn end(&self) -> u64 {
        self.meta_block + self.len.div_ceil(BLOCK)
    }
}

impl ErofsWriter {
    /// Writes what does not fit behind inodes: tails of files that are not in rows of blocks, and
    /// long targets of symlinks. Returns the blocks of the latter.
    fn write_late(&mut self, tree: &Tree, map: &ContentMap) -> Result<BTreeMap<NodeId, u64>> {
        let mut offsets = BTreeMap::new();
        let in_blocks = self.options.form() == Form::Clusters;
        // borrows a field of the writer, not all of it
        let out = self.blob.as_mut().unwrap_or(&mut self.out);
        for (unit, tail) in homeless_tails(&self.tables, map) {
            if in_blocks {
                out.fill_block()?;
            }
            offsets.insert(unit, out.offset);
            out.write(tail)?;
        }
        self.tables.inline_tails.homeless = offsets;
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

    /// Writes all metadata, and returns the values of the superblock.
    pub(super) fn metadata(
        &mut self,
        tree: &Tree,
        map: &ContentMap,
    ) -> Result<(SuperblockValues, DroppedXattrs)> {
        let xattrs = if self.options.xattrs {
            Xattrs::new(tree, self.options.given_prefixes()?)?
        } else {
            Xattrs::none()
        };
        place_fragments(&mut self.tables, map)?;
        let prefixes_packed_at = self.pack_prefixes(&xattrs.prefixes)?;
        let targets = self.write_late(tree, map)?;
        let xattr_block = self.out.offset / BLOCK;
        self.out.write(&xattrs.shared)?;
        let dir_block = self.out.fill_block()?;
        let wide = self.options.kernel.knows_extents();
        let sources = InodeSources {
            tree,
            map,
            xattrs: &xattrs,
            times: TimeBase::new(tree, self.options.made, wide),
            targets: &targets,
        };
        let order = order(tree);
        let packed = packed_content(&self.tables)?;
        let layout = MetadataLayout::new(&sources.with(&self.tables), packed, &order, dir_block)?;
        let device = self.device(layout.end())?;
        // content on a device has moved
        let packed = packed_content(&self.tables)?;
        let inodes = sources.with(&self.tables);
        write_directories(&mut self.out, tree, &order, |node| layout.nid(node))?;
        if self.out.fill_block()? != layout.meta_block {
            return Err(Error::invalid(
                "directories changed while they were written",
            ));
        }
        write_inodes(&mut self.out, &inodes, packed, &order, &layout, dir_block)?;
        let values = SuperblockValues {
            inodes: tree.nodes().len() as u64,
            times: sources.times,
            blocks: self.out.fill_block()?,
            meta_block: layout.meta_block,
            xattr_block,
            root: layout.nid(NodeId::ROOT),
            packed: layout.packed,
            chunked: layout.chunked,
            inline_pclusters: self.tables.inline_tails.has_encoded,
            shares_clusters: self.tables.units.has_moved(),
            device,
            xattrs: xattrs.is_any,
            prefixes: xattrs.prefixes.clone(),
            prefixes_packed_at,
            hash: self.out.hash()?,
        };
        Ok((values, xattrs.dropped))
    }

    /// Writes the long prefixes for the end of the packed inode, if there is one and the target
    /// kernel looks for them there, and returns their offset in it.
    fn pack_prefixes(&mut self, prefixes: &Prefixes) -> Result<Option<u64>> {
        if prefixes.count() == 0 || self.options.kernel.knows_plain_prefixes() {
            return Ok(None);
        }
        let Some(body::Content { size, .. }) = packed_content(&self.tables)? else {
            return Ok(None);
        };
        let at = size.next_multiple_of(XATTR_WORD);
        let mut table = vec![0; (at - size) as usize];
        table.extend_from_slice(&prefixes.table());
        let in_blocks = self.options.form() == Form::Clusters;
        // metadata is in the image itself, wherever content is
        let out = &mut self.out;
        if in_blocks {
            out.fill_block()?;
        }
        let start = out.offset;
        out.write(&table)?;
        if in_blocks {
            out.fill_block()?;
        }
        self.tables.packed.prefixes = Some((start, table.len() as u32));
        Ok(Some(at))
    }

    /// Ends the device for content, if there is one: its addresses follow those of the image, so
    /// that both may also be one file.
    fn device(&mut self, first_block: u64) -> Result<Option<Device>> {
        let (Some(blob), Some(DeviceName(tag))) = (&mut self.blob, self.options.device) else {
            return Ok(None);
        };
        let device = Device {
            tag,
            blocks: blob.fill_block()? - 1,
            first_block,
            hash: blob.hash()?,
        };
        // chunks have the number of the device, other maps do not
        if self.options.form() != Form::Chunks {
            self.tables.move_by((first_block - 1).saturating_mul(BLOCK));
        }
        Ok(Some(device))
    }
}

fn is_directory(tree: &Tree, node: NodeId) -> bool {
    matches!(tree.node(node).content, Content::Directory { .. })
}

/// Writes the blocks of directories that do not fit behind their inodes.
fn write_directories(
    out: &mut ImageOut,
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

/// Writes all inodes; directories begin at `dir_block`.
fn write_inodes(
    out: &mut ImageOut,
    inodes: &Inodes<'_>,
    packed: Option<body::Content<'_>>,
    order: &[NodeId],
    layout: &MetadataLayout,
    dir_block: u64,
) -> Result<()> {
    let base = layout.meta_block * BLOCK;
    let (mut bytes, mut next) = (Vec::new(), dir_block);
    for &node in order {
        let inode = inodes.inode(node, next)?;
        let tail = tail(inodes.tree, node, |node| layout.nid(node))?;
        if is_directory(inodes.tree, node) {
            next += inode.blocks();
        }
        out.fill_to(base + layout.nid(node) * INODE_SLOT)?;
        bytes.clear();
        inode.write(&tail, &mut bytes)?;
        out.write(&bytes)?;
    }
    if let (Some(content), Some(nid)) = (packed, layout.packed) {
        out.fill_to(base + nid * INODE_SLOT)?;
        bytes.clear();
        inodes.packed(content).write(&[], &mut bytes)?;
        out.write(&bytes)?;
    }
    Ok(())
}

/// Makes the inline tail of a directory or a symlink.
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
    if target.len() as u64 <= BLOCK {
        Ok(())
    } else {
        Err(Error::limit(format!(
            "a symlink's target of {} bytes",
            target.len()
        )))
    }
}
