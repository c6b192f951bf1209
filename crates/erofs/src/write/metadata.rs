//! All that is not content: long targets of symlinks, shared attributes, directories, inodes.
//!
//! In: the tree, the map of its content, and where that was put. Out: the rest of the image, and
//! its first block. **Invariant:** sizes are known before offsets, and offsets before bytes: inodes
//! are made twice, and nothing is kept of them but their numbers.

use std::collections::BTreeMap;

use sinterfs_model::{self as model, ContentMap, Error, NodeId, Result, Tree};
use zerocopy::IntoBytes;

use super::body::{self, displaced_tails, place_fragments};
use super::content_tables::ContentTables;
use super::image_out::ImageOut;
use super::inode_offsets::{InodeOffsets, MetadataLayout, order};
use super::inodes::Inodes;
use super::limits::BLOCK;
use super::options::Form;
use super::prefixes::XattrPrefixes;
use super::superblock::{Device, Finished, first_block};
use super::times::TimeBase;
use super::volume_id::DeviceName;
use super::writer::ErofsWriter;
use super::xattrs::{DroppedXattrs, Xattrs};
use crate::layout::{DataLayout, INODE_SLOT, XATTR_WORD};

impl ErofsWriter {
    /// Writes all metadata, and returns the first block.
    pub(super) fn metadata(
        &mut self,
        tree: &Tree,
        map: &ContentMap,
    ) -> Result<(Vec<u8>, DroppedXattrs)> {
        let xattrs = if self.options.xattrs {
            Xattrs::new(tree, self.options.given_prefixes())?
        } else {
            Xattrs::default()
        };
        place_fragments(&mut self.tables, map)?;
        let prefixes_packed_at = self.pack_prefixes(&xattrs.prefixes)?;
        self.write_displaced_tails(map)?;
        let targets = self.write_targets(tree)?;
        let xattr_block = self.out.fill_block()?;
        self.out.write(&xattrs.shared)?;
        let dir_block = self.out.fill_block()?;
        let wide = self.options.own.kernel.knows_extents();
        let mut inodes = Inodes {
            tree,
            map,
            xattrs: &xattrs,
            times: TimeBase::new(tree, self.options.made, wide),
            block: self.options.own.extended.block,
            targets,
            nids: vec![0; tree.nodes().len()],
        };
        let order = order(tree);
        let layout = lay_out(&mut inodes, &self.tables, &order, (xattr_block, dir_block))?;
        let device = self.device(layout.end)?;
        write_directories(&mut self.out, &inodes, &order)?;
        write_inodes(&mut self.out, &inodes, &self.tables, &order, &layout)?;
        if self.out.fill_block()? != layout.end {
            return Err(Error::invalid("metadata changed while it was written"));
        }
        let finished = Finished {
            inodes: &inodes,
            tables: &self.tables,
            layout,
            device,
            prefixes_packed_at,
            hash: self.out.hash()?,
        };
        Ok((first_block(&finished)?, xattrs.dropped))
    }

    /// Writes the long prefixes for the end of the packed inode, if there is one and the target
    /// kernel looks for them there, and returns their offset in it.
    fn pack_prefixes(&mut self, prefixes: &XattrPrefixes) -> Result<Option<u64>> {
        if prefixes.count() == 0 || self.options.own.kernel.knows_plain_prefixes() {
            return Ok(None);
        }
        let Some(body::Content { size, .. }) = body::packed_content(&self.tables)? else {
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

    /// Writes the tails of files that are not in consecutive blocks, and so do not fit after
    /// inodes.
    fn write_displaced_tails(&mut self, map: &ContentMap) -> Result<()> {
        let mut offsets = BTreeMap::new();
        let in_blocks = self.options.form() == Form::Clusters;
        // borrows a field of the writer, not all of it
        let out = self.blob.as_mut().unwrap_or(&mut self.out);
        for (unit, tail) in displaced_tails(&self.tables, map) {
            if in_blocks {
                out.fill_block()?;
            }
            offsets.insert(unit, out.offset);
            out.write(tail)?;
        }
        self.tables.inline_tails.displaced = offsets;
        Ok(())
    }

    /// Writes the targets of symlinks that are too long to be inline, and returns their blocks.
    fn write_targets(&mut self, tree: &Tree) -> Result<BTreeMap<NodeId, u64>> {
        let (mut targets, block) = (BTreeMap::new(), self.options.own.extended.block);
        for (node, id) in tree.nodes().iter().zip((0..).map(NodeId)) {
            let model::Content::Symlink(target) = node.content else {
                continue;
            };
            let target = tree.bytes(target);
            if target.len() as u64 > block.bytes() {
                let what = format!("a symlink's target of {} bytes", target.len());
                let path = String::from_utf8_lossy(&tree.path(id)).into_owned();
                return Err(Error::limit(what).path(path));
            }
            if target.len() as u64 > block.inline_max() {
                targets.insert(id, self.out.fill_block()?);
                self.out.write(target)?;
            }
        }
        Ok(targets)
    }

    /// Ends the device for content, if there is one: its addresses follow the image's, so both may
    /// also be one file. Its first block identifies it, and is written last, so that no image
    /// accepts a device that is written in place until it is complete.
    fn device(&mut self, first_block: u64) -> Result<Option<Device>> {
        if self.options.own.extended.index {
            return Ok(self.referred_device(first_block));
        }
        let (Some(blob), Some(DeviceName(tag))) = (&mut self.blob, self.options.device) else {
            return Ok(None);
        };
        let device = Device {
            tag,
            blocks: blob.fill_block()?,
            first_block,
            hash: Some(blob.hash()?),
        };
        // chunks have the number of the device, other maps do not
        if self.options.form() != Form::Chunks {
            self.tables.move_by(first_block.saturating_mul(BLOCK));
        }
        let mut first = vec![0; BLOCK as usize];
        let header = device.header();
        let room = first.get_mut(..size_of_val(&header)).unwrap_or_default();
        room.copy_from_slice(header.as_bytes());
        blob.end(&first)?;
        Ok(Some(device))
    }
}

impl ErofsWriter {
    /// Returns what an index refers to as a device after the image, where its file may follow;
    /// `None` if no file has content.
    fn referred_device(&self, first_block: u64) -> Option<Device> {
        let block = self.options.own.extended.block.bytes();
        let bytes = self.tables.units.end();
        (bytes > 0).then(|| Device {
            tag: [0; 64],
            blocks: bytes.div_ceil(block),
            first_block,
            hash: None,
        })
    }
}

/// Assigns numbers to all inodes, after shared attributes and directories that begin at these
/// blocks.
fn lay_out(
    inodes: &mut Inodes<'_>,
    tables: &ContentTables,
    order: &[NodeId],
    (xattrs, dirs): (u64, u64),
) -> Result<MetadataLayout> {
    let mut offsets = InodeOffsets::in_blocks(inodes.block);
    let mut nids = inodes.nids.clone();
    let (mut dirs_end, mut chunked) = (dirs, false);
    for &node in order {
        let inode = inodes.inode(tables, node, &mut dirs_end)?;
        chunked |= inode.layout == DataLayout::Chunks;
        if let Some(nid) = nids.get_mut(node.index()) {
            *nid = offsets.next(inode.size()) / INODE_SLOT;
        }
    }
    let packed = inodes.packed(tables)?;
    let packed = packed.map(|inode| offsets.next(inode.size()) / INODE_SLOT);
    inodes.nids = nids;
    Ok(MetadataLayout {
        xattrs,
        dirs,
        inodes: dirs_end,
        end: dirs_end + offsets.end.div_ceil(inodes.block.bytes()),
        packed,
        chunked,
    })
}

/// Writes the blocks of directories that do not fit after their inodes.
fn write_directories(out: &mut ImageOut, inodes: &Inodes<'_>, order: &[NodeId]) -> Result<()> {
    for &node in order {
        if let model::Content::Directory { .. } = inodes.tree.node(node).content {
            out.write(&inodes.directory(node)?.0)?;
            out.fill_block()?;
        }
    }
    Ok(())
}

/// Writes all inodes.
fn write_inodes(
    out: &mut ImageOut,
    inodes: &Inodes<'_>,
    tables: &ContentTables,
    order: &[NodeId],
    layout: &MetadataLayout,
) -> Result<()> {
    let place = |nid: u64| layout.inodes * inodes.block.bytes() + nid * INODE_SLOT;
    let mut dir_block = layout.dirs;
    for &node in order {
        out.fill_to(place(inodes.nid(node)))?;
        inodes.inode(tables, node, &mut dir_block)?.write(out)?;
    }
    if let (Some(inode), Some(nid)) = (inodes.packed(tables)?, layout.packed) {
        out.fill_to(place(nid))?;
        inode.write(out)?;
    }
    Ok(())
}
